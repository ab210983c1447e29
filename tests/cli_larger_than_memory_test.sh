#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# kopse fit --memory: the bytes of a fit without it, and never more memory than it says.
# Usage: cli_larger_than_memory_test.sh PATH/TO/kopse
set -euo pipefail
docs=$(dirname "$(realpath "$0")")/../docs/command_line.md
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"
if grep -qE '__(a|t)san_init' "$kopse"; then
  echo 'a sanitizer takes memory of its own: nothing to be seen here'
  exit 0
fi
rows=15000 limit=28M threads=1 # of data of 26 to 60 MB

# A block of random rows, again and again, a little apart.
python3 - "$rows" <<'PYTHON'
import array, random, struct, sys
random.seed(1)
n, d = int(sys.argv[1]), 20 # 25 blocks, 60 MB
block = array.array("d", (random.random() + i // d % 9 for i in range(n * d)))
blocks = [array.array("d", (x + s / 64 for x in block)) for s in range(25)]

def npy(name, kind, blocks, fortran=False):
    header = "{'descr': '<%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (kind, fortran, len(blocks) * n, d)
    with open(name, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n")
        for block in blocks:
            out.write(block.tobytes())

npy("big.npy", "f8", blocks)
npy("fortran.npy", "f8", blocks, True)
npy("int.npy", "i4", [array.array("i", (int(100 * x) for x in block))] * 25)
with open("big.fvecs", "wb") as out:
    for b in blocks[:22]:
        floats = array.array("f", b).tobytes()
        for i in range(n):
            out.write(struct.pack("<i", d) + floats[4 * d * i:4 * d * (i + 1)])
with open("big.raw", "wb") as out:
    for b in blocks:
        out.write(b.tobytes())
with open("some.csv", "w") as out:
    for i in range(n):
        out.write(",".join(repr(x) for x in block[d * i:d * (i + 1)]) + "\n")
with open("weights.npy", "wb") as out:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % (25 * n)
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n")
    out.write(array.array("d", (i % 5 for i in range(25 * n))).tobytes())
PYTHON

# The fit with the limit, and that without, to compare.
compare() {
  run fit "$@" --max-iter 3 -q -o want.npy -l want_labels.npy --stats stats.json
  expect_rc 0
  want=$(stats '["inertia"]')
  run fit "$@" --max-iter 3 --memory "$limit" --threads "$threads" -o got.npy -l got_labels.npy --stats stats.json
  expect_rc 0
  expect_same want.npy got.npy
  expect_same want_labels.npy got_labels.npy
  [ "$want" = "$(stats '["inertia"]')" ] || fail "$*: another inertia"
  expect_within "$*"
}
expect_within() {
  [ "$(stats '["peak_bytes"] <= s["memory_limit"]')" = True ] ||
    fail "$1: $(stats '["peak_bytes"]') bytes at most, above $(stats '["memory_limit"]')"
}

test_mapped_rows() {
  compare big.npy -k 12
  expect_err '^kopse: memory: at most 28.0 MiB, about [0-9.]+ expected: rows \([0-9.]+\) in '
  expect_err 'in their file, page by page; k-means\+\+ by passes over them; algorithm lloyd in place of auto'
  compare big.fvecs -k 12 --init random
  limit=36M threads=2
  compare big.npy -k 9 --init random
  limit=28M threads=1
}
test_mapped_rows_otherwise() {
  compare big.npy -k 9 --init random --columns 3,4,5
  compare big.raw --raw float64:20 -k 9 --init random
  compare big.npy -k 9 -a hamerly --tol 0.001 --rows 1000:
  compare big.npy -k 9 --init random --restarts 2 --seed 3
}
test_rows_that_are_copied() {
  compare fortran.npy -k 8 --init random
  compare int.npy -k 8 --init random
  compare big.npy some.csv -k 8 --init random
  compare big.npy -k 5 --init random --spherical
}
test_streams() {
  compare some.csv -k 20
  run fit - -k 20 --memory "$limit" -q -o got.npy --max-iter 3 <some.csv
  expect_same want.npy got.npy
}
test_weights() {
  limit=45M
  compare big.npy -k 7 --init random --weights weights.npy
  limit=28M
}

# The least of all: the number that is told is enough, and less is refused before any work.
test_least() {
  run fit big.npy -k 12 --memory 14M --threads 1 -o none.npy
  expect_error 1 '--memory 14M: clustering these rows takes at least [0-9]+ MiB: .*; --init random takes less$'
  expect_no_file none.npy
  local least
  least=$(grep -oE 'at least [0-9]+' err | grep -oE '[0-9]+')
  run fit big.npy -k 12 --memory "${least}M" --threads 1 --max-iter 2 --stats stats.json
  expect_rc 0
  expect_within "the least, ${least}M"
  for init in refined coreset; do
    run fit big.npy -k 12 --memory 20M --init "$init"
    least=$(grep -oE 'at least [0-9]+' err | grep -oE '[0-9]+')
    run fit big.npy -k 12 --memory "${least}M" --init "$init" --max-iter 2
    expect_rc 0
  done
  run fit big.npy -k 12 --memory 30M --threads 1 --init coreset
  expect_error 1 'coreset takes much of it, --init k-means\+\+ or random less$'
}

# From less to more: rows stay on the disk, then in memory; what was asked for is done where it can be.
test_ladder() {
  for size in 30M 100M 170M 400M; do
    run fit big.npy -k 12 --max-iter 2 --threads 1 --memory "$size" --stats stats.json -o got.npy
    expect_rc 0
    expect_within "$size"
    [ ! -e first.npy ] || expect_same first.npy got.npy
    cp got.npy first.npy
  done
  expect_err 'in memory; algorithm auto$'
}

test_sizes() {
  for good in 1000000000 500M 2g 1.5GiB 0.5tb 900000k; do run fit four.csv -k 2 --memory "$good" -q && expect_rc 0; done
  for wrong in 0 -1 x M 5X 1MM 5% nan inf 1e40; do
    run fit missing.csv -k 2 --memory "$wrong"
    expect_error 2 "--memory '$wrong': a number of bytes such as 500M, 2G or 1.5GiB is expected"
  done
  run fit four.csv -k 2 --memory 1.5GiB -q --stats stats.json
  [ "$(stats '["memory_limit"]')" = 1610612736 ] || fail 'another limit in the JSON'
  grep -qF "| \`memory_limit\` |" "$docs" || fail 'the page lacks memory_limit'
}

test_checkpoints() {
  run fit points.csv -k 30 -q -o want.npy
  run fit points.csv -k 30 -q --max-iter 3 --checkpoint a.ckpt
  run fit points.csv -k 30 -q --memory 1G --checkpoint a.ckpt --resume -o got.npy && expect_rc 0
  expect_same want.npy got.npy
}

test_no_room_for_rows() {
  rc=0
  (export TMPDIR=$work/none && exec "$kopse" fit some.csv -k 2 --memory 40M) >out 2>err || rc=$?
  expect_error 1 'cannot be kept in .*/none: .*; TMPDIR names another folder$'
}

run_tests
