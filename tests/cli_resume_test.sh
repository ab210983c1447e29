#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long runs from the outside: killed at random, stopped by signals and limits of time, and taken up again to the bytes
# of the run that nothing happened to.
# Usage: cli_resume_test.sh PATH/TO/kopse [KILLS]
set -euo pipefail
kills=${2:-20}
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

awk 'BEGIN { srand(3); for (i = 0; i < 20000; ++i) printf "%.6f,%.6f,%.6f\n", rand() * rand(), rand(), rand() + i % 5 }' >many.csv
run fit many.csv -k 400 --restarts 2 -q -o want.csv -l want.npy --stats want.json
expect_rc 0
long=(fit many.csv -k 400 --restarts 2 -o c.csv -l l.npy --checkpoint run.ckpt)

# What a run has left is what it should be, as far as it is there.
expect_whole_outputs() {
  [ ! -e c.csv ] || expect_same c.csv want.csv
  [ ! -e l.npy ] || expect_same l.npy want.npy
}

# The iteration and run where the file was taken up, and those last seen before, as numbers that grow.
place() { awk -v run="$1" -v iteration="$2" 'BEGIN { print run * 100000 + iteration }'; }
taken_up() { sed -nE 's/.*going on from iteration ([0-9]+) of run ([0-9]+)$/\2 \1/p' err; }
seen() { sed -nE 's|^run ([0-9]+)/2, iteration ([0-9]+):.*|\1 \2|p' err | tail -n 1; }

test_killed_at_random() {
  local algorithms=(lloyd auto hamerly 'dualtree --tree ball' yinyang frontier 'filter --threads 2' elkan) done=0 finished=0 reached=0 at
  while [ "$done" -lt "$kills" ]; do
    : >err # it may be killed before that of the last one is gone
    # shellcheck disable=SC2086
    "$kopse" "${long[@]}" --resume --checkpoint-every 1 -v -a ${algorithms[$((RANDOM % 8))]} >out 2>err &
    sleep "0.$(printf '%03d' $((RANDOM % 250)))"
    kill -KILL $! 2>/dev/null || true
    rc=0
    wait $! 2>/dev/null || rc=$?
    expect_whole_outputs
    if grep -q damaged err; then fail 'a damaged checkpoint'; fi
    at=$(taken_up)
    # What was printed came before its checkpoint: at most that one iteration is lost, or the start of the second run.
    if [ -n "$at" ]; then
      # shellcheck disable=SC2086
      [ "$(place $at)" -ge "$((reached - 1))" ] || [ "$(place $at)" = 200000 ] || fail "taken up at $at, after $reached"
    else
      [ "$reached" -le 100001 ] || [ "$rc" = 137 ] || fail "not taken up, after $reached"
    fi
    if [ "$rc" = 137 ]; then
      done=$((done + 1))
      at=$(seen)
      # shellcheck disable=SC2086
      [ -z "$at" ] || reached=$(place $at)
    else
      expect_rc 0
      finished=$((finished + 1)) reached=0
      for file in c.csv l.npy; do [ -e "$file" ] || fail "$file is missing"; done
      rm -f c.csv l.npy stats.json run.ckpt
    fi
  done
  run "${long[@]}" --resume -q --stats stats.json
  expect_rc 0
  expect_whole_outputs
  expect_same_trace
  rm -f run.ckpt run.ckpt.*.part c.csv l.npy stats.json
  echo "killed $done times, $finished runs ended before"
}

expect_same_trace() {
  python3 - <<'PYTHON' || fail 'the trace differs'
import json
want, got = (json.load(open(name)) for name in ("want.json", "stats.json"))
for key in ("iterations", "converged", "reason", "inertia", "restart", "empty_clusters"):
    assert want[key] == got[key], key
for a, b in zip(want["trace"], got["trace"], strict=True):
    for key in ("labels_changed", "largest_movement", "inertia"):
        assert a[key] == b[key], key
PYTHON
}

# A signal ends the run with its exit code, and leaves a checkpoint of the last whole iteration.
test_signals() {
  for signal in INT TERM; do
    rm -f run.ckpt
    "$kopse" "${long[@]}" -a lloyd --checkpoint-every 1h -v >out 2>err &
    until grep -q 'iteration 3:' err; do sleep 0.02; done
    kill -"$signal" $!
    rc=0
    wait $! || rc=$?
    if [ "$signal" = INT ]; then expect_rc 130; else expect_rc 143; fi
    expect_err '^kopse: interrupted: the checkpoint run.ckpt is of iteration [0-9]+ of run [12]$'
    expect_err '^kopse: note: run.ckpt: written, of iteration 0 of run 1$'
    expect_err '^kopse: note: run.ckpt: written, of iteration [1-9][0-9]* of run [12]$'
    expect_no_file c.csv
    at=$(seen) last=${at#* } number=${at% *}
    run "${long[@]}" --resume --stats stats.json
    expect_rc 0
    expect_err "^kopse: note: run.ckpt: going on from iteration $last of run $number$"
    expect_out "^resumed from: iteration $last$"
    [ "$(stats '["resumed_from"]') $(stats '["resumed_restart"]')" = "$last $((number - 1))" ] || fail 'the JSON says otherwise'
    expect_whole_outputs
    expect_same_trace
    rm -f c.csv l.npy
  done
}

test_time_limit() {
  rm -f run.ckpt
  run fit points.csv -k 400 --time-limit 0.001s --checkpoint run.ckpt --stats stats.json -o c.csv -l l.npy
  expect_rc 0
  expect_out '^iterations: 1$'
  expect_out '^converged: no \(--time-limit reached\)$'
  expect_err '^kopse: warning: stopped after the time limit, before it converged$'
  [ "$(stats '["reason"]') $(stats '.get("resumed_from")')" = 'time_limit None' ] || fail 'the JSON says otherwise'
  run predict points.csv --centroids c.csv -l again.npy -q && expect_same again.npy l.npy
  run fit points.csv -k 400 -q -o one.csv -l one.npy
  run fit points.csv -k 400 -q --resume --checkpoint run.ckpt -o c.csv -l l.npy --time-limit 1d && expect_rc 0
  expect_same c.csv one.csv
  expect_same l.npy one.npy
  run fit points.csv -k 400 --resume --checkpoint run.ckpt -q -o c.csv -l l.npy && expect_rc 0 # it was over
  expect_same c.csv one.csv
  expect_same l.npy one.npy
  rm -f run.ckpt c.csv l.npy
}

test_resume_where_there_is_none() {
  run fit four.csv -k 2 --checkpoint four.ckpt --resume && expect_rc 0
  expect_err '^kopse: note: four.ckpt is not there yet: starting from the beginning$'
  run fit four.csv -k 2 --checkpoint four.ckpt && expect_error 1 '--checkpoint four.ckpt is there already: --resume goes on from it'
  run fit four.csv -k 2 --checkpoint four.csv && expect_error 2 '--checkpoint four.csv would overwrite the data four.csv'
  run fit four.csv -k 3 --checkpoint four.ckpt --resume && expect_error 1 'four.ckpt: the checkpoint is of another fit: k = 2 there, 3 here'
  run fit points.csv -k 2 --checkpoint four.ckpt --resume && expect_error 1 'rows = 4 there, 3000 here; columns = 1 there, 3 here'
  head -c 100 four.ckpt >half.ckpt
  run fit four.csv -k 2 --checkpoint half.ckpt --resume && expect_error 1 'half.ckpt: the checkpoint is damaged'
  : >empty.ckpt
  run fit four.csv -k 2 --checkpoint empty.ckpt --resume && expect_error 1 'empty.ckpt: this is no checkpoint'
}

test_refusals() {
  run fit four.csv -k 2 --resume && expect_error 2 '--resume: --checkpoint FILE must say from where'
  run fit four.csv -k 2 --checkpoint-every 5 && expect_error 2 '--checkpoint-every: without effect'
  run fit missing.csv -k 2 --checkpoint run.csv && expect_error 2 '--checkpoint run.csv: the name must end in .ckpt'
  run fit missing.csv -k 2 --checkpoint no/run.ckpt && expect_error 1 '--checkpoint: cannot write no/run.ckpt: the directory no '
  for wrong in 0 -1 x 5x 0s 1e10d nan; do
    run fit missing.csv -k 2 --checkpoint run.ckpt --checkpoint-every "$wrong"
    expect_error 2 "--checkpoint-every '$wrong': a number of iterations above 0, or a time such as"
    run fit missing.csv -k 2 --time-limit "$wrong" && expect_error 2 "--time-limit '$wrong': a time such as"
  done
  run fit missing.csv -k 2 --time-limit 5 && expect_error 2 "--time-limit '5': a time such as"
}

test_disk_that_is_full() {
  rc=0
  (ulimit -f 1 && exec "$kopse" fit points.csv -k 400 --checkpoint full.ckpt -q) >out 2>err || rc=$?
  expect_error 1 'cannot write full.ckpt: File too large$'
  expect_no_file full.ckpt
}

run_tests
