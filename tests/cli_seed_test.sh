#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program from the outside: starts, kopse seed, kopse choose-k.
# Usage: cli_seed_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

test_start() {
  run fit points.csv -k 20 -q --init k-means++ --seed 1 -o a.csv && expect_rc 0
  run fit points.csv -k 20 -q --seed 1 -o b.csv && expect_rc 0
  run fit points.csv -k 20 -q --seed 18446744073709551615 -o c.csv && expect_rc 0
  expect_same a.csv b.csv
  expect_differ a.csv c.csv
  run fit points.csv -k 20 --restarts 4 --stats stats.json && expect_rc 0 && expect_out '^restart: [1-4] of 4 was best'
  best=$(stats '["inertia"]')
  run fit points.csv -k 20 --stats stats.json
  python3 -c "import sys; sys.exit($best > $(stats '["inertia"]'))" || fail 'four restarts are worse than one'
}

test_seed() {
  for init in 'k-means++' 'k-means||' refined coreset bisecting random; do
    run seed points.csv -k 20 --init "$init" --seed 3 -o start.csv && expect_rc 0 && expect_no_err
    expect_out "^init: $(printf '%s' "$init" | sed 's/[+|]/\\&/g')$"
    run fit points.csv -k 20 -I start.csv -q -o a.csv && expect_rc 0
    run fit points.csv -k 20 --init "$init" --seed 3 -q -o b.csv && expect_rc 0
    expect_same a.csv b.csv
  done
  run seed points.csv -k 20 --init kmeans++ --candidates 0 -q -o a.npy && expect_rc 0
  run seed points.csv -k 20 --candidates 4 --tree ball --leaf-size 3 --threads 2 -q -o b.npy && expect_rc 0
  expect_same a.npy b.npy # 2 + ln 20 = 4
  run seed points.csv -k 20 --restart 1 -q -o b.npy && expect_differ a.npy b.npy
  run seed four.csv -k 4 -o start.csv --rows-out rows.txt -q && expect_rc 0
  expect_lines <(sort -n rows.txt) "$(printf '0\n1\n2\n3')"
  printf '7\n7\n8\n' >two.csv
  run seed two.csv -k 3 -o start.csv -q && expect_rc 0 && expect_err '^kopse: warning: only 2 distinct rows .* 3 starting'
  run seed two.csv -k 4 -o none.csv && expect_error 2 '4.*3' && expect_no_file none.csv
  run seed two.csv -o none.csv && expect_error 2 'number of centroids'
  run seed two.csv -k 2 && expect_error 2 '--centroids-out'
  run seed two.csv -k 2 -o none.csv --init best && expect_error 2 "'best'.*k-means"
  run seed two.csv -k 2 -o none.csv --init coreset --rows-out none.txt && expect_error 2 '--rows-out.*coreset'
  for wrong in '--oversampling 0' '--oversampling x' '--oversampling inf' '--rounds 0' '--samples 0' '--sample-rows -1' \
    '--candidates -1' '--restart -1' '--tree oak' '--leaf-size 0'; do
    # shellcheck disable=SC2086
    run seed two.csv -k 2 -o none.csv $wrong && expect_error 2 "${wrong%% *}|leaf size|tree"
  done
  expect_no_file none.csv
}

test_seed_of_few_distinct_points() {
  printf '7\n7\n8\n7\n' >two.csv
  for init in 'k-means++' 'k-means||' random; do
    run seed two.csv -k 4 --init "$init" -o start.csv --rows-out rows.txt -q && expect_rc 0
    for row in $(<rows.txt); do sed -n "$((row + 1))p" two.csv; done >drawn.csv
    expect_same start.csv drawn.csv
  done
  printf '1e-300\n2e-300\n3e-300\n' >tiny.csv
  for command in 'fit tiny.csv -k 3' 'seed tiny.csv -k 3 -o start.csv' 'choose-k tiny.csv -k 1:3:1'; do
    # shellcheck disable=SC2086
    run $command -q && expect_rc 0 && expect_err '^kopse: warning: only 1 distinct row was found \(rows at distance 0 in double .* 3 '
    [ "$(wc -l <err)" = 1 ] || fail 'not one warning'
  done
}

test_equal_centroids_are_told() {
  printf '7\n7\n7\n7\n8\n9\n' >equal.csv
  for init in random refined; do
    run seed equal.csv -k 5 --init "$init" -o start.csv --stats stats.json -q && expect_rc 0
    distinct=$(sort -u start.csv | wc -l)
    [ "$(stats '["distinct"]')" = "$distinct" ] || fail "not $distinct centroids differ"
    expect_lines err "kopse: warning: equal centroids were drawn: only $distinct of the 5 starting centroids are distinct"
    run seed equal.csv -k 1 --init "$init" -o start.csv -q && expect_no_err
  done
  run fit points.csv -k 20 --init random -q && expect_no_err
}

test_work_of_seeding() {
  for init in 'k-means++' 'k-means||' bisecting; do
    run seed points.csv -k 20 --init "$init" -o start.csv --stats stats.json -q && expect_rc 0
    [ "$(stats '["distances"] > 3000, s["node_scores"] > 20')" = '(True, True)' ] || fail "$init works without work"
  done
  run seed points.csv -k 20 --init coreset --sample-rows 25 -o start.csv --stats stats.json -q && expect_rc 0
  [ "$(stats '["distances"] > 3000, s["distances"] < 8000')" = '(True, True)' ] || fail 'coreset looks at each row, and draws in blocks'
}

# What has no effect is refused; default values are no harm.
test_options_without_effect() {
  for wrong in '--candidates 4 --init random' '--candidates 0 --init bisecting' '--candidates 2 --init coreset'; do
    # shellcheck disable=SC2086
    run fit points.csv -k 5 $wrong && expect_error 2 '--candidates: without effect on --init .* for k-means\+\+ and k-means\|\|'
    # shellcheck disable=SC2086
    run choose-k points.csv -k 2,3 --warm off $wrong && expect_error 2 '--candidates'
    # shellcheck disable=SC2086
    run choose-k points.csv -k 2,3 --x-means $wrong && expect_error 2 '--candidates'
    # shellcheck disable=SC2086
    run choose-k points.csv -k 2,3 $wrong && expect_rc 0 # warm starts are drawn by k-means++
  done
  for wrong in '--candidates 4 --init refined' '--rounds 3' '--oversampling 1 --init coreset' '--samples 3' \
    '--sample-rows 50 --init k-means||' '--weights two.csv --init random'; do
    # shellcheck disable=SC2086
    run seed points.csv -k 5 -o none.csv $wrong && expect_error 2 "${wrong%% *}: without effect on --init"
  done
  expect_no_file none.csv
  for right in '--candidates 1 --init random' '--rounds 5 --oversampling 2 --samples 10 --sample-rows 0' \
    '--rounds 3 --candidates 3 --init k-means||' '--samples 3 --sample-rows 50 --init refined'; do
    # shellcheck disable=SC2086
    run seed points.csv -k 5 -o start.csv -q $right && expect_rc 0 && expect_no_err
  done
  for wrong in '--warm off' '--silhouette off' '--report none.html'; do
    # shellcheck disable=SC2086
    run choose-k points.csv -k 2:4 --x-means $wrong && expect_error 2 "${wrong%% *}.*not with --x-means"
  done
}

test_numbers_too_large() {
  for wrong in '--candidates' '--restart' '--rounds' '--samples'; do
    run seed points.csv -k 5 -o none.csv "$wrong" 1000000000000 && expect_error 2 "$wrong '1000000000000': a whole number from [01] to 4294967295 "
  done
  for command in 'fit points.csv -k 5' 'choose-k points.csv -k 2:4'; do
    for wrong in '--candidates' '--restarts'; do
      # shellcheck disable=SC2086
      run $command "$wrong" 99999999999999999999 && expect_error 2 "$wrong '9*': .* from [01] to 429496729"
    done
  done
  run seed points.csv -k 2999 -o none.csv --init refined --samples 4294967295 && expect_error 1 'refined with 4294967295 samples needs .* of memory'
  printf '1\n1e300\n' >huge.csv
  run seed huge.csv -k 1 -o none.csv && expect_error 1 'row 1, column 0 .* is 1e\+300: '
  expect_no_file none.csv
}

test_choose_k() {
  run choose-k points.csv -k 1:8,5 --stats stats.json --report choice.html && expect_rc 0 && expect_no_err
  expect_out '^k by knee: ' && expect_out '^k by BIC: [0-9]' && expect_out '^trees built on the points: 1$'
  [ "$(stats '["tree_builds"], [c["k"] for c in s["curve"]]')" = '(1, [1, 2, 4, 5, 8])' ] || fail 'not these k, or not one tree'
  [ "$(stats '["curve"][0]["silhouette"]')" = None ] || fail 'a silhouette of one cluster'
  cp stats.json a.json
  run choose-k points.csv -k 1:8,5 -q -a lloyd --tree octree --threads 1 --stats stats.json && expect_rc 0
  python3 - a.json stats.json <<'PYTHON' || fail 'another algorithm gives something else'
import json, sys
a, b = ([{k: v for k, v in c.items() if k != "seconds"} for c in json.load(open(f))["curve"]] for f in sys.argv[1:])
assert a == b
PYTHON
  run choose-k points.csv -k 3 --warm off --silhouette off --restarts 2 && expect_rc 0 && expect_out ' fresh '
  run choose-k points.csv && expect_error 2 'which k'
  run choose-k points.csv -k 5:2 && expect_error 2 "'5:2'"
  run choose-k four.csv -k 2:8 && expect_error 2 '8.*4'
  run choose-k points.csv -k 2 -o none.csv && expect_error 2 '--centroids-out.*--x-means'
  run choose-k points.csv -k 2 --warm maybe && expect_error 2 '--warm'
}

test_x_means() {
  awk 'BEGIN { srand(3); for (i = 0; i < 900; ++i) printf "%.6f,%.6f\n", i % 3 * 50 + rand(), i % 9 * 40 + rand() }' >nine.csv
  run choose-k nine.csv -k 1:50 --x-means -o centroids.csv -l labels.npy --stats stats.json && expect_rc 0 && expect_no_err
  expect_out '^k: 9$' && expect_out '^trees built on the points: 1$'
  [ "$(wc -l <centroids.csv)" = 9 ] || fail 'not nine centroids'
  run predict nine.csv --centroids centroids.csv -l again.npy -q && expect_same labels.npy again.npy
  run choose-k nine.csv -k 2:4 --x-means && expect_rc 0 && expect_out '^k: [234]$'
  run choose-k nine.csv -k 1:7 --x-means && expect_rc 0 && expect_out '^k: [567]$' # not 4, the last power of two
  run choose-k nine.csv -k 1:901 --x-means && expect_error 2 'k = 901 is more than the 900 rows'
  run choose-k nine.csv -k 7:1 --x-means && expect_error 2 "'7:1'"
  run choose-k nine.csv -k 2:4 --x-means --report none.html && expect_error 2 '--report'
}

run_tests
