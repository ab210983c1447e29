#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program with --spherical. Usage: cli_spherical_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

printf '%s\n' 3,4 -5,0 30,40 -0.25,0 >four_rows.csv
awk -F, '{ s = NR % 2 ? 1 : 1024; printf "%.6f,%.6f,%.6f\n", s * ($1 - 0.2), s * ($2 - 0.5), s * ($3 - 2.5) }' points.csv >directions.csv

test_by_angle() {
  printf '1,1\n-7,0\n' >start.csv
  run fit four_rows.csv -k 2 -I start.csv --spherical -o c.csv -l l.csv && expect_rc 0 && expect_no_err
  expect_out '^inertia: 0$'
  expect_lines c.csv $'0.6,0.8\n-1,0'
  expect_lines l.csv $'0\n1\n0\n1'
  run fit four_rows.csv -k 2 -I start.csv -q -l l.csv && expect_lines l.csv $'1\n1\n0\n1' # by distance: another answer
}

test_says_so() {
  run fit four_rows.csv -k 2 --spherical -v && expect_err '^kopse: note: four_rows.csv: rows were divided by their lengths$'
  run fit four_rows.csv -k 2 --spherical --stats stats.json && expect_no_err
  [ "$(stats '["spherical"]')" = True ] || fail 'spherical is not true'
  run fit four_rows.csv -k 2 --stats stats.json
  [ "$(stats '["spherical"]')" = False ] || fail 'spherical is not false'
  run fit four_rows.csv -k 2 --spherical -v -q && expect_no_err
}

test_algorithms_agree_and_lengths_do_not_matter() {
  run fit directions.csv -k 40 --spherical -q -a lloyd -o want.csv -l want.txt && expect_rc 0
  for how in '-a dualtree' '-a frontier --verify' '-a filter --tree ball' '-a hamerly --threads 3' '-a yinyang' '-a elkan'; do
    # shellcheck disable=SC2086
    run fit directions.csv -k 40 --spherical -q $how -o got.csv -l got.txt
    expect_rc 0
    expect_same want.csv got.csv
    expect_same want.txt got.txt
  done
  awk -F, '{ s = NR % 3 ? 4 : 0.125; printf "%.9f,%.9f,%.9f\n", s * $1, s * $2, s * $3 }' directions.csv >others.csv
  run fit others.csv -k 40 --spherical -q -o got.csv -l got.txt
  expect_same want.csv got.csv
  expect_same want.txt got.txt
}

test_centroids_have_unit_length() {
  run fit directions.csv -k 40 --spherical -q -o c.csv && expect_rc 0
  awk -F, '{ s = $1 * $1 + $2 * $2 + $3 * $3; if (s < 1 - 1e-14 || s > 1 + 1e-14) print NR, s }' c.csv >bad
  [ ! -s bad ] || fail "lengths: $(head -n 1 bad)"
}

test_predict_and_seed() {
  run fit directions.csv -k 40 --spherical -q -o c.csv -l want.csv
  run predict directions.csv --centroids c.csv --spherical -q -l got.csv && expect_rc 0
  expect_same want.csv got.csv
  run predict directions.csv --centroids c.csv -q -l got.csv
  expect_same want.csv got.csv
  for init in k-means++ refined random; do
    run fit directions.csv -k 40 --spherical --init "$init" --max-iter 3 -q -o want.csv
    run seed directions.csv -k 40 --spherical --init "$init" -q -o start.csv && expect_rc 0
    run fit directions.csv -k 40 --spherical -I start.csv --max-iter 3 -q -o got.csv
    expect_same want.csv got.csv
  done
}

test_float32_becomes_double() {
  {
    printf '\x93NUMPY\x01\x00\x76\x00'
    printf "%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1), }"
    printf '\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x20\x41\x00\x00\x30\x41'
  } >zero.npy
  run fit zero.npy -k 1 --spherical && expect_error 1 'zero.npy: row 0 \(counted from 0\) is all zeros'
  {
    printf '\x93NUMPY\x01\x00\x76\x00'
    printf "%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
    printf '\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40'
  } >two.npy
  printf '1,2\n3,4\n' >two.csv
  run fit two.npy -k 1 --spherical -q -o got.csv && expect_rc 0
  run fit two.csv -k 1 --spherical -q -o want.csv && expect_same want.csv got.csv
}

test_weights_and_report() {
  printf '1\n1\n3\n0\n' >w.csv
  run fit four_rows.csv -k 2 --spherical --weights w.csv --report page.html -q && expect_rc 0
  [ -s page.html ] || fail 'no page'
}

test_what_has_no_direction() {
  printf '1,0\n0,0\n0,2\n' >zero.csv
  run fit zero.csv -k 2 --spherical -o none.csv
  expect_error 1 'zero.csv: row 1 \(counted from 0\) is all zeros: it has no direction'
  expect_no_file none.csv
  run predict zero.csv --centroids two_rows.csv --spherical -l none.csv && expect_error 1 'zero.csv: row 1 '
  printf '1,0\n0,0\n' >start.csv
  run fit four_rows.csv -k 2 --spherical -I start.csv && expect_error 1 'starting centroid 1 \(counted from 0\) is all zeros'
  run choose-k four_rows.csv -k 2 --spherical && expect_error 2 '--spherical'
}

run_tests
