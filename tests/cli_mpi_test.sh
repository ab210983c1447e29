#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program under mpirun: the bytes of one process for any number of ranks, and one message where something is wrong.
# Usage: cli_mpi_test.sh PATH/TO/kopse [MPIRUN]; without mpirun only what the program says of that.
set -euo pipefail
mpirun=${2:-}
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

# ranks N ARGUMENTS...: of the program, under mpirun.
ranks() {
  rc=0
  timeout 300 "$mpirun" -n "$1" "$kopse" "${@:2}" >out 2>err || rc=$?
}
# One message of the program, beside what mpirun has to say.
expect_one_error() {
  expect_rc "$1"
  expect_err "^kopse: $2"
  [ "$(grep -c '^kopse: ' err)" = 1 ] || fail 'there is more than one message'
  [ ! -s out ] || fail 'stdout is not empty'
}
outputs=(-q -o c.csv -l l.npy)
expect_as_alone() {
  expect_rc 0
  expect_same c.csv want.csv
  expect_same l.npy want.npy
  rm -f c.csv l.npy
}

test_refused_without_mpi() {
  mkdir -p lone
  cp "$kopse" lone/kopse
  rc=0
  OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 lone/kopse fit four.csv -k 2 >out 2>err || rc=$?
  expect_error 1 'mpirun has started 4 processes, but this kopse was built without MPI.*libopenmpi-dev'
  rc=0
  OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 lone/kopse fit four.csv -k 2 >out 2>err || rc=$?
  expect_rc 1
  expect_no_err
  rc=0
  PMIX_RANK=0 SLURM_STEP_NUM_TASKS=3 lone/kopse fit four.csv -k 2 >out 2>err || rc=$?
  expect_error 1 'mpirun has started 3 processes, but this kopse was built without MPI'
  SLURM_STEP_NUM_TASKS=3 lone/kopse fit four.csv -k 2 -q || fail 'a step without ranks is refused'
  if [ -n "$mpirun" ]; then # by the mpirun of another MPI
    OMPI_COMM_WORLD_SIZE='' PMI_SIZE=2 PMI_RANK=0 "$kopse" fit four.csv -k 2 >out 2>err && fail 'it has run'
    expect_err '^kopse: 2 processes were started, but by another MPI'
  fi
  OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 lone/kopse fit four.csv -k 2 -q || fail 'one process is refused'
}

# The same rows in every format, in some order.
make_files() {
  for suffix in csv npy fvecs h5 csv.gz; do
    "$kopse" fit points.csv -k 2000 --init random --max-iter 1 -e -q -o "rows.$suffix" 2>/dev/null || true
  done
  tail -c +129 rows.npy >rows.bin
  h5=()
  [ ! -e rows.h5 ] || h5=(rows.h5:data)
}

test_formats() {
  for data in rows.csv rows.npy rows.fvecs 'rows.bin --raw float64:3' "${h5[@]}" rows.csv.gz; do
    # shellcheck disable=SC2086
    run fit $data -k 40 -q -o want.csv -l want.npy && expect_rc 0
    # shellcheck disable=SC2086
    ranks 3 fit $data -k 40 "${outputs[@]}" && expect_as_alone
  done
}

test_starts_and_options() {
  awk 'BEGIN { srand(2); for (i = 0; i < 2000; ++i) print int(3 * rand()) }' >weights.csv
  run seed rows.npy -k 30 --seed 5 -q -o start.csv && expect_rc 0
  while read -r options; do
    # shellcheck disable=SC2086
    run fit rows.npy -k 30 $options -q -o want.csv -l want.npy && expect_rc 0
    # shellcheck disable=SC2086
    ranks 2 fit rows.npy -k 30 $options "${outputs[@]}" && expect_as_alone
  done <<'OPTIONS'
--init random --restarts 3 -a dualtree --tree ball --threads 2
--init k-means|| --candidates 0 -a hamerly --weights weights.csv
--rows 100:1500 --columns 2,0 --candidates 3 -a yinyang
--spherical --tol 1e-3 -a filter
-I start.csv --max-iter 5 --empty keep --verify
--memory 64M
OPTIONS
}

test_what_is_told() {
  ranks 3 fit rows.npy -k 40 --stats stats.json -l l.ivecs
  expect_rc 0
  [ "$(grep -c '^n: 2000$' out)" = 1 ] || fail 'not told once'
  [ "$(stats '["ranks"]') $(stats '["rows_per_rank"]') $(stats '["n"]')" = '3 [667, 667, 666] 2000' ] || fail 'the JSON says otherwise'
  run fit rows.npy -k 40 -q --stats stats.json -l want.ivecs
  [ "$(stats '["ranks"]') $(stats '["rows_per_rank"]')" = '1 [2000]' ] || fail 'the JSON of one process says otherwise'
  expect_same l.ivecs want.ivecs
}

test_a_file_a_rank() {
  run fit rows.csv -k 30 -q -o want.csv -l want.npy
  head -n 300 rows.csv >one.csv
  sed -n '301,1700p' rows.csv >two.csv
  tail -n +1701 rows.csv >three.csv
  for count in 2 3; do
    ranks "$count" fit one.csv two.csv three.csv -k 30 "${outputs[@]}" --stats stats.json && expect_as_alone
  done
  [ "$(stats '["rows_per_rank"]')" = '[300, 1400, 300]' ] || fail 'not a file a rank'
  ranks 3 fit one.csv missing.csv three.csv -k 30 && expect_one_error 1 'rank 1 of 3: cannot read missing.csv'
  cut -d, -f1,2 three.csv >narrow.csv
  ranks 3 fit one.csv two.csv narrow.csv -k 30 && expect_one_error 1 'rank 2 of 3: narrow.csv: found 2 columns, expected 3 as in one.csv'
  { echo x,y,z; cat one.csv; } >named.csv
  { echo x,z,y; cat two.csv; } >other.csv
  ranks 2 fit named.csv other.csv -k 30 && expect_one_error 1 'rank 1 of 2: other.csv: found other names in its header line than in named.csv'
  sed '5s/,.*//' two.csv >broken.csv
  ranks 3 fit one.csv broken.csv three.csv -k 30 && expect_one_error 1 'rank 1 of 3: broken.csv:5'
}

test_files_of_different_types() {
  run fit rows.fvecs rows.npy -k 30 -q -o want.csv -l want.npy && expect_rc 0
  ranks 2 fit rows.fvecs rows.npy -k 30 "${outputs[@]}" && expect_as_alone
  ranks 3 fit rows.fvecs rows.npy -k 30 "${outputs[@]}" && expect_as_alone
}

test_more_ranks_than_rows() {
  run fit four.csv -k 2 -q -o want.csv -l want.npy
  ranks 5 fit four.csv -k 2 "${outputs[@]}" && expect_as_alone
  printf '%s\n' 1,1 2,1 1,3 >three.csv
  run fit three.csv -k 2 --spherical -q -o want.csv -l want.npy
  ranks 5 fit three.csv -k 2 --spherical "${outputs[@]}" && expect_as_alone
  run fit rows.npy --rows 7:11 -k 2 -q -o want.csv -l want.npy && expect_rc 0
  ranks 5 fit rows.npy --rows 7:11 -k 2 "${outputs[@]}" --stats stats.json && expect_as_alone
  [ "$(stats '["rows_per_rank"]')" = '[1, 1, 1, 1, 0]' ] || fail 'other shares'
}

test_refusals() {
  ranks 2 fit rows.npy -k 0 && expect_one_error 2 "--clusters '0': a whole number"
  ranks 2 fit rows.npy -k 5000 && expect_one_error 2 'k = 5000 is more than the 2000 rows there are$'
  ranks 2 predict rows.npy --centroids want.csv -l l.csv && expect_one_error 2 'kopse predict is for one process'
  ranks 2 fit rows.npy -k 3 --report r.html && expect_one_error 2 '--report is for one process'
  ranks 2 fit rows.npy -k 3 --init refined && expect_one_error 2 "init 'refined' is for rows in one place"
  printf '\0\0\0\0\0\0\xf8\x7f' | dd of=rows.bin bs=8 seek=5000 conv=notrunc 2>/dev/null
  ranks 3 fit rows.bin --raw float64:3 -k 3 "${outputs[@]}"
  expect_one_error 1 'rank 2 of 3: .*row 1666, column 2 '
  expect_no_file c.csv
  # The disk is full for the first rank alone.
  ln -s /dev/full full.csv
  ranks 2 fit rows.npy -k 3 -q -o full.csv -l l.csv && expect_one_error 1 'rank 0 of 2: .*full.csv'
  expect_no_file l.csv
}

# What each finds out by itself must be the same.
test_differences() {
  rc=0
  "$mpirun" -n 1 "$kopse" fit rows.npy -k 3 -q : -n 1 "$kopse" fit rows.npy -k 3 -q -l l.npy >out 2>err || rc=$?
  expect_one_error 2 'rank 1 of 2 was started with other arguments than rank 0 of 2, expected the same for all$'
  expect_no_file l.npy
  mkdir -p on0 on1
  cp rows.npy on0/rows.npy
  "$kopse" fit rows.npy -k 1500 --init random --max-iter 1 -q -o on1/rows.npy 2>/dev/null
  rc=0
  # shellcheck disable=SC2016
  "$mpirun" -n 2 sh -c 'cd "on$OMPI_COMM_WORLD_RANK" && exec "$0" fit rows.npy -k 3 -l l.npy' "$kopse" >out 2>err || rc=$?
  expect_one_error 1 'rows.npy: rank 1 of 2 finds 1500 rows, expected 2000 as rank 0 of 2 does'
  ranks 2 fit rows.npy -k 3 --weights - && expect_one_error 2 'standard input is for one process'
  ranks 2 fit rows.npy -k 3 --bogus && expect_one_error 2 '--bogus was not expected'
}

# Rows have their numbers in the whole; what was decided about any file is told once; so is how many rows there are.
test_numbers_and_notes() {
  { sed -n '1,1500p' rows.csv; echo 0,0,0; sed -n '1502,2000p' rows.csv; } >zero.csv
  ranks 2 fit zero.csv -k 3 --spherical && expect_one_error 1 'rank 1 of 2: zero.csv: row 1500 .counted from 0. is all zeros'
  ranks 3 fit zero.csv --rows 100:1900 -k 3 --spherical && expect_one_error 1 'rank 2 of 3: zero.csv: row 1400 '
  sed -n '1,1400p' rows.csv | tr , ';' >semicolons.csv
  { echo x,y,z; tail -n 300 rows.csv; } >header.csv
  for count in 2 3; do
    ranks "$count" fit semicolons.csv header.csv -k 3 && expect_rc 0
    [ "$(grep -c '^kopse: note:' err)" = 3 ] || fail 'not three notes'
    expect_err 'semicolons.csv: delimiter found: semicolon'
    expect_err 'header.csv: header skipped: x,y,z'
    expect_err '2 files as one: 1700 rows'
    grep -q "^ranks: $count$" out || fail 'the ranks are not told'
  done
}

# The first keeps the labels of all, and a file of float32 beside one of float64 is not held in float64.
test_memory() {
  grep -q __asan "$kopse" && return # a sanitizer takes memory of its own
  head -c 40000000 /dev/zero | tr '\0' '\101' >many.raw # 1,250,000 rows of 8 float32
  "$kopse" fit many.raw --raw float32:8 -k 1 --max-iter 1 -q -o one.fvecs 2>/dev/null
  cat one.fvecs >some.fvecs
  for _ in {1..20}; do cat some.fvecs some.fvecs >twice && mv twice some.fvecs; [ "$(stat -c %s some.fvecs)" -lt 20000000 ] || break; done
  "$kopse" fit one.fvecs -k 1 -q -o one.npy 2>/dev/null
  ranks 2 fit some.fvecs one.npy -k 1 --init random --max-iter 2 --memory 48M -a lloyd --threads 1 -q --stats stats.json
  expect_rc 0
  [ "$(stats '["peak_bytes"]')" -lt $((48 << 20)) ] || fail "a peak of $(stats '["peak_bytes"]') bytes"
  ranks 2 fit many.raw --raw float32:1 -k 1 --init random --max-iter 1 --memory 40M -a lloyd --threads 1 -q -l l.ivecs
  expect_one_error 1 '(rank 0 of 2: )?--memory 40M: clustering these rows takes at least'
  ranks 2 fit many.raw --raw float32:1 -k 1 --init random --max-iter 1 -a lloyd --threads 1 -q -l l.ivecs --stats stats.json
  expect_rc 0
  [ "$(stats '["peak_bytes"]')" -gt $((40 << 20)) ] || fail 'its labels are not counted'
}

children_of() { awk -v parent="$1" '$4 == parent { print $1 }' /proc/[0-9]*/stat 2>/dev/null | sort -n; }

# A signal to a rank ends all with a checkpoint, from which any number of ranks goes on.
test_long_runs() {
  awk 'BEGIN { srand(3); for (i = 0; i < 20000; ++i) printf "%.6f,%.6f,%.6f\n", rand() * rand(), rand(), rand() + i % 5 }' >many.csv
  run fit many.csv -k 400 --restarts 4 -q -o want.csv -l want.npy
  long=(fit many.csv -k 400 --restarts 4 -o c.csv -l l.npy --checkpoint run.ckpt)
  "$mpirun" -n 3 "$kopse" "${long[@]}" -a lloyd --checkpoint-every 1h -v >out 2>err &
  until grep -q 'iteration 3:' err; do kill -0 $! || break && sleep 0.02; done
  kill -TERM "$(children_of $! | sed -n 2p)"
  rc=0
  wait $! || rc=$?
  expect_rc 143
  expect_err '^kopse: interrupted: the checkpoint run.ckpt is of iteration [0-9]+ of run [1-4]$'
  expect_no_file c.csv
  ranks 2 "${long[@]}" && expect_one_error 1 '(rank 0 of 2: )?--checkpoint run.ckpt is there already'
  cp run.ckpt again.ckpt
  ranks 2 "${long[@]}" --resume -q && expect_as_alone
  mv again.ckpt run.ckpt
  run "${long[@]}" --resume -q && expect_as_alone
  ranks 2 fit many.csv -k 400 --time-limit 0.001s -o c.csv --stats stats.json
  expect_rc 0
  [ "$(grep -c 'warning: stopped after the time limit' err)" = 1 ] || fail 'not told once'
  [ "$(stats '["iterations"]') $(stats '["reason"]')" = '1 time_limit' ] || fail 'the JSON says otherwise'
}

if [ -n "$mpirun" ]; then
  make_files
else
  for later in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
    [ "$later" = test_refused_without_mpi ] || unset -f "$later"
  done
fi
run_tests
