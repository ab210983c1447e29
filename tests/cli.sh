# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What tests of the program share; sourced with the program's path as $1. At the end of a script: run_tests.
kopse=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
name=''

# A test is a function test_…; it runs the program by `run` and says by `expect_…` what must have come of it.
fail() {
  failures=$((failures + 1))
  printf 'FAILED %s: %s\n  stdout: %s\n  stderr: %s\n' "$name" "$1" "$(tail -c 600 out)" "$(tail -c 600 err)"
}
run() {
  rc=0
  "$kopse" "$@" >out 2>err || rc=$?
}
expect_rc() { [ "$rc" = "$1" ] || fail "exit code $rc, not $1"; }
expect_out() { grep -qE -- "$1" out || fail "stdout lacks '$1'"; }
expect_err() { grep -qE -- "$1" err || fail "stderr lacks '$1'"; }
expect_no_err() { [ ! -s err ] || fail 'stderr is not empty'; }
expect_same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }
expect_differ() { ! cmp -s "$1" "$2" || fail "$1 and $2 are the same"; }
expect_lines() { [ "$(<"$1")" = "$2" ] || fail "$1 holds '$(<"$1")', not '$2'"; }
expect_no_file() { [ ! -e "$1" ] || fail "$1 was written"; }
# One line on stderr, and nothing on stdout.
expect_error() {
  expect_rc "$1"
  expect_err "^kopse: .*$2"
  [ "$(wc -l <err)" = 1 ] || fail 'the message is not one line'
  [ ! -s out ] || fail 'stdout is not empty'
}
# stats FIELD: of stats.json, as Python prints it.
stats() { python3 -c 'import json, sys; print(eval("s" + sys.argv[1], {"s": json.load(open("stats.json"))}))' "$1"; }

# What the tests read: numbers whose answers are known, and points enough to keep the program busy.
printf '%s\n' 0 1 10 11 >four.csv
awk 'BEGIN { srand(1); for (i = 0; i < 3000; ++i) printf "%.6f,%.6f,%.6f\n", rand() * rand(), rand(), rand() + i % 5 }' >points.csv

run_tests() {
  for name in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
    : >out
    : >err
    "$name"
  done
  if [ "$failures" != 0 ]; then
    echo "$failures failed"
    exit 1
  fi
  echo 'all passed'
}
