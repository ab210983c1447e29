#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program and the files people have: the same result from any format, from parts and from pipes; ranges of rows;
# what is said of files that cannot be read or written. Usage: cli_files_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

# points.csv in other formats, of values that each of them holds exactly.
python3 - <<'PYTHON'
import array, gzip, random
random.seed(1)
rows = [[random.randrange(256) for _ in range(3)] for _ in range(2000)]
text = "".join(",".join(map(str, row)) + "\n" for row in rows)
open("p.csv", "w").write(text)
open("p1.csv", "w").write("".join(text.splitlines(True)[:700]))
open("p2.csv", "w").write("".join(text.splitlines(True)[700:]))
gzip.open("p.csv.gz", "wt").write(text)
for name, code, size in ("p.fvecs", "f", 4), ("p.ivecs", "i", 4), ("p.bvecs", "B", 1):
    with open(name, "wb") as file:
        for row in rows:
            file.write(array.array("i", [3]).tobytes() + array.array(code, row).tobytes())
flat = [x for row in rows for x in row]
open("p.raw", "wb").write(array.array("d", flat).tobytes())
swapped = array.array("H", flat)
swapped.byteswap()
open("p.be", "wb").write(b"head" + swapped.tobytes())
PYTHON
fit() { run fit "$@" -k 20 -q -o c.csv -l l.csv && expect_rc 0; }

test_any_format_gives_the_same_bits() {
  fit p.csv
  mv c.csv want.csv
  mv l.csv want_l.csv
  for how in p.csv.gz p.fvecs p.ivecs p.bvecs 'p.raw --raw float64:3' 'p.be --raw uint16be:3@4' 'p.raw --raw float64:2000x3' \
    'p1.csv p2.csv' '-i p1.csv -i p2.csv' '-i p1.csv p2.csv --threads 1' 'p.csv --format txt'; do
    rm -f c.csv l.csv
    # shellcheck disable=SC2086
    fit $how
    expect_same want.csv c.csv
    expect_same want_l.csv l.csv
  done
  if command -v zstd >/dev/null; then
    zstd -q p.csv p.fvecs
    fit p.csv.zst && expect_same want.csv c.csv
    fit p.fvecs.zst && expect_same want.csv c.csv
  fi
}

test_standard_input() {
  fit p.csv && cp c.csv want.csv
  fit - <p.csv && expect_same want.csv c.csv
  cat p1.csv p2.csv | { fit -i - && expect_same want.csv c.csv; }
  fit - <p.csv.gz && expect_same want.csv c.csv
  fit - --format bvecs <p.bvecs && expect_same want.csv c.csv
  fit - --raw float64:3 <p.raw && expect_same want.csv c.csv
  fit p1.csv - <p2.csv && expect_same want.csv c.csv
  fit /dev/stdin <p.csv && expect_same want.csv c.csv
  fit <(cat p.csv) && expect_same want.csv c.csv
  run fit - -k 2 </dev/null && expect_error 1 'standard input: found an empty file'
  run fit - -k 2 <&- && expect_error 1 'cannot read standard input: Bad file descriptor'
  run fit - -k 2 <. && expect_error 1 'cannot read standard input: it is a directory'
  run fit - - -k 2 <p.csv && expect_error 2 'the data - and the data - cannot both be standard input'
  run fit - -k 2 --weights - <p.csv && expect_error 2 'cannot both be standard input'
  printf '0\n1\n' | { run predict four.csv --centroids - -l l.csv && expect_rc 0; }
  printf '1,2\n3,x\n' >bad.csv
  run fit - -k 1 <bad.csv && expect_error 1 'standard input:2:2: found "x"'
}

test_rows() {
  sed -n '101,900p' p.csv >part.csv
  fit part.csv && cp c.csv want.csv && cp l.csv want_l.csv
  for how in p.csv p.csv.gz p.fvecs p.bvecs 'p.raw --raw float64:3' 'p1.csv p2.csv' 'p1.csv p.csv --rows 800:1600'; do
    [[ $how == *--rows* ]] || how="$how --rows 100:900"
    # shellcheck disable=SC2086
    fit $how
    [[ $how == *1600 ]] || expect_same want.csv c.csv
    [[ $how == *1600 ]] || expect_same want_l.csv l.csv
  done
  run fit four.csv -k 2 --rows 2: -o c.csv -q && expect_rc 0
  expect_lines c.csv $'11\n10'
  run fit four.csv -k 2 --rows :2 -o c.csv -q && expect_lines c.csv $'1\n0'
  printf '1\n1\n1\n3\n' >w.csv
  run fit four.csv -k 1 --rows 2:4 --weights w.csv -q -o c.csv && expect_lines c.csv 10.75
  run fit four.csv -k 1 --rows 3:5 && expect_error 2 'four.csv: rows 3:5 were asked for, but there are 4 rows'
  run fit - -k 1 --rows 4: <four.csv && expect_error 2 'standard input: rows 4: were asked for, but there are 4 rows'
  run fit four.csv four.csv -k 1 --rows 3:9 && expect_error 2 'four.csv and 1 more file: rows 3:9 .* 8 rows'
  printf '1\n2\n' >w.csv
  run fit four.csv -k 1 --rows 2:4 --weights w.csv && expect_error 2 'w.csv: rows 2:4 were asked for, but there are 2 values'
  for command in 'predict --centroids four.csv -l l.csv' 'seed -k 1 -o c.csv' 'choose-k -k 1,2' info; do
    # shellcheck disable=SC2086
    run $command p.csv --rows 10:1 && expect_error 2 "--rows '10:1'"
  done
  run info p.csv --rows 10:12 && expect_out '^rows: 2$'
}

test_several_files() {
  run info p1.csv p2.csv && expect_out '^file: p1.csv and 1 more file$' && expect_out '^rows: 2000$'
  run fit p1.csv p2.csv -k 2 && expect_err '^kopse: note: 2 files as one: 2000 rows$'
  run fit p1.csv four.csv -k 2 && expect_error 1 'four.csv: found 1 column, expected 3 as in p1.csv'
  run fit p1.csv none.csv -k 2 && expect_error 1 'cannot read none.csv: No such file or directory'
  run fit p1.csv p2.csv -k 2 -o p2.csv && expect_error 2 '-o*.*p2.csv would overwrite the data p2.csv'
  run fit p1.csv p2.csv -k 2 --report r.html -q && expect_rc 0 && grep -q 'p1.csv and 1 more file' r.html
}

test_outputs_by_suffix() {
  run fit four.csv -k 2 -q -o c.fvecs -l l.ivecs && expect_rc 0
  [ "$(od -An -tx1 -v c.fvecs l.ivecs | tr -d ' \n' | wc -c)" = 96 ] || fail 'not two records of 8 bytes and four'
  run predict four.csv --centroids c.fvecs -l again.ivecs && expect_rc 0 && expect_same l.ivecs again.ivecs
  run fit four.csv -k 2 -q -o c.csv.gz -l l.csv.gz && expect_rc 0
  [ "$(gzip -dc l.csv.gz | wc -l)" = 4 ] || fail 'l.csv.gz'
  run fit four.csv -k 2 -o c.ivecs && expect_error 2 '--centroids-out c.ivecs: rows of numbers are written to .fvecs'
  run fit four.csv -k 2 -l l.bvecs && expect_error 2 '--labels-out l.bvecs: labels are written to .ivecs'
  run fit four.csv -k 2 -o c.dat && expect_error 2 '--centroids-out c.dat: unknown suffix .dat; known are'
}

test_hdf5() {
  run fit four.csv -k 2 -q -o c.h5
  [[ ! -e c.h5 ]] && grep -q 'built without HDF5.*libhdf5-dev' err && return 0
  expect_rc 0
  run predict four.csv --centroids c.h5 -l l.h5:run/labels && expect_rc 0
  run fit four.csv -k 2 -I c.h5:data -q -l l.csv && expect_rc 0
  run info l.h5 && expect_rc 0 && expect_out '^rows: 4$'
  run fit c.h5 -k 2 -q -o again.csv && expect_rc 0 && expect_lines again.csv "$(printf '0.5\n10.5')"
  run fit c.h5 --rows 0:1 -k 1 -q -o again.csv && expect_lines again.csv 10.5
  run fit c.h5 -k 2 -o c.h5:x && expect_error 2 '--centroids-out c.h5:x would overwrite the data c.h5'
  run fit four.csv -k 2 -o l.h5:x && expect_error 1 'its other datasets: run/labels'
  run fit four.csv -k 2 -o n.h5:x -l n.h5:y && expect_error 2 '--labels-out n.h5:y would overwrite --centroids-out n.h5:x'
  run fit four.csv -k 2 -o n.h5: && expect_error 2 'the name of a dataset was expected'
  run fit c.h5:none -k 2 && expect_error 2 'c.h5:none: there is no such dataset; there are data'
  run fit c.h5 -k 2 --delimiter comma && expect_error 2 '--delimiter: without effect on a .h5 file'
  run fit none.h5:x -k 2 && expect_error 1 'cannot read none.h5: No such file'
  run fit - -k 2 <c.h5 && expect_error 1 'HDF5 cannot be read once from beginning to end'
  cp four.csv text.h5
  run fit text.h5 -k 2 && expect_error 1 'text.h5: found no HDF5 file'
  head -c 1000 c.h5 >cut.h5
  run fit cut.h5 -k 2 && expect_error 1 'cut.h5.*HDF5'
  [ -w /dev/full ] || return 0
  ln -sf /dev/full full.h5
  run fit four.csv -k 2 -q -o full.h5 && expect_error 1 'cannot write full.h5: No space left on device'
}

# A full disk, a limit on file sizes, directories, no permission: one sentence, and the old outputs are there.
test_outputs_that_fail() {
  for suffix in csv.gz npy.gz fvecs csv.zst; do
    echo old >"o.$suffix"
    (
      ulimit -f 1
      run fit points.csv -k 500 --max-iter 1 -q -o "o.$suffix"
      [ "$rc" = 1 ] || fail "exit code $rc"
      expect_err "^kopse: cannot write o.$suffix: File too large$"
      exit "$failures"
    ) || failures=$((failures + 1))
    expect_lines "o.$suffix" old
    mkdir -p "d.$suffix"
    run fit four.csv -k 2 -o "d.$suffix" && expect_error 1 "--centroids-out: cannot write d.$suffix: it is a directory"
    run fit four.csv -k 2 -o "none/o.$suffix" && expect_error 1 'the directory none does not exist'
    run fit "d.$suffix" -k 2 && expect_error 1 "cannot read d.$suffix: it is a directory"
    [ ! -w /dev/full ] || ln -sf /dev/full "full.$suffix"
    [ ! -w /dev/full ] || { run fit four.csv -k 2 -q -o "full.$suffix" && expect_error 1 "cannot write full.$suffix: No space left on device"; }
  done
  ! ls ./*.part 2>/dev/null || fail 'a part is left'
}

test_spoilt_files() {
  head -c 1000 p.csv.gz >cut.csv.gz
  run fit cut.csv.gz -k 2 -o c.csv && expect_error 1 'cut.csv.gz: it is cut short: it ends within its gzip data, at byte 1000$'
  { cat p.csv.gz && echo more; } >more.csv.gz
  run fit more.csv.gz -k 2 && expect_error 1 'bytes that are no gzip data behind those that are, at byte'
  head -c 1001 p.fvecs >cut.fvecs
  run fit cut.fvecs -k 2 && expect_error 1 'cut.fvecs: it is cut short: it ends within row 62 .counted from 0; byte 992'
  run fit p.raw -k 2 --raw float64:7 && expect_error 1 'p.raw: found 48000 bytes of numbers, expected whole rows of 7 float64'
  mkfifo pipe.csv
  run fit pipe.csv -k 2 && expect_error 1 'pipe.csv: it is a pipe or device; a regular file was expected'
}

# Ctrl-C while it waits for what does not come, and while it reads.
# Pages of a mapped file that are gone when they are wanted.
test_cut_short_while_it_is_in_use() {
  "$kopse" fit points.csv -k 3000 --max-iter 1 -q -o centroids.npy 2>err
  tail -c 72000 centroids.npy >block.raw
  : >long.raw
  for _ in {1..60}; do cat block.raw >>long.raw; done
  : >after
  ls >before
  "$kopse" fit long.raw --raw float64:3 -k 500 -a lloyd --init random --max-iter 100000 -v --threads 1 -o out.npy >out 2>err &
  until grep -q '^iteration' err; do
    kill -0 $! || break
    sleep 0.05
  done
  truncate -s 5000 long.raw
  rc=0
  wait $! || rc=$?
  ls >after
  expect_rc 1
  expect_err '^kopse: /.*/long.raw cannot be read to its end any more'
  expect_same before after
}

# A terminal whose other end is closed: reading it is an error of input and output.
test_read_errors() {
  for format in csv npy csv.gz npy.zst fvecs; do
    rc=0
    python3 -c 'import os, subprocess, sys
here, there = os.openpty()
os.close(there)
sys.exit(subprocess.run(sys.argv[1:], stdin=here).returncode)' "$kopse" info - --format "$format" >out 2>err || rc=$?
    expect_error 1 'cannot read standard input: Input/output error'
  done
}

test_interrupted_while_reading() {
  mkfifo never
  exec 9<>never # open for writing as long as this is, and nothing is written
  "$kopse" fit - -k 2 -o none.csv <never >out 2>err &
  local pid=$!
  sleep 0.3
  kill -INT "$pid"
  rc=0
  wait "$pid" || rc=$?
  exec 9>&-
  [ "$rc" = 130 ] || fail "exit code $rc, not 130"
  expect_no_file none.csv
}

run_tests
