#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory before work: what a fit is thought to take, and limits that are too low for it.
# Usage: cli_memory_test.sh PATH/TO/kopse
set -euo pipefail
stars=$(dirname "$(realpath "$0")")/../data/stars.npy
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"
if grep -qE '__(a|t)san_init' "$kopse"; then
  echo 'a sanitizer takes memory of its own: nothing to be seen here'
  exit 0
fi

# On one thread, for the memory that threads take by chance is a part of so small a peak.
test_prediction() {
  for how in '-k 100 --max-iter 300' '-k 1000 --max-iter 300' '-k 1000 --init random -a lloyd' '-k 1000 -a dualtree' \
    '-k 1000 -a filter --tree ball' '-k 100 --init random -a elkan' '-k 500 -a yinyang' '-k 1000 -a dense'; do
    [[ $how == *max-iter* ]] || how="$how --max-iter 10"
    # shellcheck disable=SC2086
    run fit "$stars" $how --threads 1 -q --stats stats.json
    expect_rc 0
    [ "$(stats '["predicted_bytes"] / s["peak_bytes"] - 1' | awk '{ print ($1 < 0.15 && $1 > -0.15) }')" = 1 ] ||
      fail "$how: predicted $(stats '["predicted_bytes"]'), taken $(stats '["peak_bytes"]')"
  done
}

# A limit on the address space: it runs, or says in one sentence what is missing; it never crashes or hangs.
test_limits() {
  local refused=0
  for threads in 1 2; do
    for limit in 20000 25000 30000 40000 50000 60000 80000 120000 250000; do
      (ulimit -v "$limit" && exec "$kopse" --version) >/dev/null 2>&1 || continue # the libraries alone take more
      rc=0
      (ulimit -v "$limit" && exec "$kopse" fit "$stars" -k 300 --max-iter 3 -q --threads "$threads") >out 2>err || rc=$?
      [ "$rc" != 0 ] || continue
      expect_error 1 '(not enough memory: the fit needs .* bytes \([0-9.e-]+ GiB\).* are available|cannot read .*(memory|allocate)|not enough memory)$'
      refused=$((refused + $(grep -c 'the fit needs' err || true)))
    done
  done
  [ "$refused" -gt 2 ] || fail 'no limit was too low for the fit'
}

test_tables_that_are_too_large() {
  rc=0
  (ulimit -v 400000 && exec "$kopse" fit "$stars" -k 5000 -a elkan -q) >out 2>err || rc=$?
  expect_error 1 'not enough memory: the fit needs about [0-9]+ bytes \(3\.[0-9]+ GiB\), [0-9]+ bytes \(0\.[0-9]+ GiB\) are available$'
}

# What started it may be large: its memory is not the program's.
test_large_parent() {
  rc=0
  python3 -c 'import os, sys; b = bytearray(b"x") * (200 << 20); os.execv(sys.argv[1], sys.argv[1:])' \
    "$kopse" fit "$stars" -k 3 --memory 100M -q --stats stats.json >out 2>err || rc=$?
  expect_rc 0
  [ "$(stats '["peak_bytes"] < 100 << 20')" = True ] || fail "$(stats '["peak_bytes"]') bytes of a process before"
}

# Threads that the system refuses are done without.
test_refused_threads() {
  local as=() here=$work/anyone
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --clear-groups) # root has no such limit
  chmod 755 "$work" && mkdir -m 777 "$here" && cp "$kopse" "$here/kopse" && cp "$stars" "$here/stars.npy"
  run fit "$stars" -k 200 --max-iter 5 --threads 1 -q -o want.npy
  for limit in '-u 1' '-v 120000' '-v 131500' '-v 160000'; do
    rm -f "$here/got.npy"
    # shellcheck disable=SC2086
    (ulimit $limit && exec "$kopse" --version) >/dev/null 2>&1 || continue # the libraries alone take more
    rc=0
    # shellcheck disable=SC2086
    (cd "$here" && ulimit -c 0 && timeout 600 "${as[@]}" bash -c "ulimit $limit; exec ./kopse fit stars.npy -k 200 --max-iter 5 --threads 8 -q -o got.npy") \
      >out 2>err || rc=$?
    [ "$rc" = 0 ] && expect_same want.npy "$here/got.npy"
    [ "$rc" = 0 ] || expect_error 1 '(not enough memory|cannot read .*(memory|allocate))'
    [ "$rc" = 0 ] || [ "$limit" != '-u 1' ] || fail 'threads are not needed'
  done
}

run_tests
