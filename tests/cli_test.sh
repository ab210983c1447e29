#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program from the outside: every option, exit codes, what errors say, what signals leave behind.
# Usage: cli_test.sh PATH/TO/kopse
set -euo pipefail
docs=$(dirname "$(realpath "$0")")/../docs/command_line.md
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

# Further data whose answers are known.
printf '0\n1\n9\n10\n30\n' >five.csv
printf '0\n1\n2\n10\n11\n12\n' >six.csv
printf '0\n1\n' >init01.csv
printf '0\n30\n' >init030.csv
{
  printf '\x93NUMPY\x01\x00\x76\x00'
  printf "%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1), }"
  printf '\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x20\x41\x00\x00\x30\x41'
} >four.npy

test_help_without_arguments() {
  run && expect_rc 0 && expect_out 'Usage: kopse COMMAND' && expect_out 'predict' && expect_no_err
}

test_help_of_commands() {
  for command in fit predict seed choose-k info; do
    run "$command" --help
    expect_rc 0
    expect_out "Usage: kopse $command DATA"
    expect_out 'Example'
  done
  run fit --help
  for group in Data Clustering Start Method Output; do expect_out "^$group:"; done
}

test_help_and_page_name_the_same_options() {
  for command in fit predict seed choose-k info; do "$kopse" "$command" --help; done | grep -oE -- '--[a-z][a-z-]+' | sort -u >in_help
  grep -oE -- '--[a-z][a-z-]+' "$docs" | sort -u >in_page
  expect_same in_help in_page
  "$kopse" fit --help | grep -oE -- '(^|[ ,])-[a-zA-Z],' | grep -oE -- '-[a-zA-Z]' | sort -u >in_help
  while read -r option; do grep -q -- "\`$option" "$docs" || fail "the page lacks $option"; done <in_help
}

test_page_names_all_fields_of_stats() {
  run fit points.csv -k 5 -q --stats stats.json
  grep -oE '"[a-z_]+":' stats.json | tr -d '":' | sort -u |
    grep -vE "^($(stats '["trace"][0]["prunes"].keys()' | grep -oE '[a-z_]+' | grep -v dict | paste -sd '|'))$" >fields
  for how in "seed points.csv -k 5 -o start.csv" "choose-k points.csv -k 2,3" "choose-k points.csv -k 2:4 --x-means" \
    "info points.csv --tree cover"; do
    # shellcheck disable=SC2086
    run $how -q --stats stats.json
    grep -oE '"[a-z_]+":' stats.json | tr -d '":' | sort -u >>fields
  done
  run info points.csv --tree cover --stats stats.json
  grep -oE '"[a-z_]+":' stats.json | tr -d '":' | sort -u >>fields
  while read -r field; do grep -q "\`$field\`" "$docs" || fail "the page lacks $field"; done <fields
}

test_version() {
  run --version && expect_rc 0 && expect_out '^kopse [0-9]+\.[0-9]+\.[0-9]+$'
  cp out version
  run fit --version && expect_rc 0 && expect_same out version
}

test_summary() {
  run fit four.csv -k 2 -o centroids.csv -l labels.csv
  expect_rc 0
  for line in 'n: 4' 'd: 1' 'k: 2' 'algorithm: auto: line' 'iterations: [0-9]+' \
    'converged: yes \(no label changed\)' 'inertia: 1' 'seconds: .*load.*tree.*seed.*iterate.*write' \
    'wrote: centroids.csv' 'wrote: labels.csv'; do
    expect_out "^$line"
  done
  expect_no_err
}

test_quiet_and_verbose() {
  run fit four.csv -k 2 -q && expect_rc 0 && expect_no_err
  [ ! -s out ] || fail 'stdout is not empty'
  run fit points.csv -k 20 --verbose
  expect_rc 0
  expect_err '^iteration 1: 3,000 labels changed, inertia [0-9.]+, [0-9.-]+ % pruned, [0-9.e-]+ s$'
  expect_err '^memory: about [0-9.]+ MiB at most: [0-9.]+ with the data, tree [0-9.]+, start [0-9.]+, then algorithm [0-9.]+ and labels'
  [ "$(grep -c '^iteration' err)" = "$(sed -n 's/^iterations: //p' out)" ] || fail 'not one line an iteration'
}

test_the_papers_command_line() {
  for algorithm in naive lloyd dualtree dualtree-kd; do
    run fit -i six.csv -I init01.csv -c 2 -v -e -a "$algorithm"
    expect_rc 0
    expect_out '^inertia: 4$'
    expect_err '^iteration 1: '
  done
}

test_algorithms_agree() {
  run fit points.csv -k 50 -q -a lloyd -o want.csv -l want.txt && expect_rc 0
  for how in '--tree kd' '--leaf-size 1' '--leaf-size 100 --threads 2' '--algorithm dualtree-kd' '--verify'; do
    # shellcheck disable=SC2086
    run fit points.csv -k 50 -q $how -o got.csv -l got.txt
    expect_rc 0
    expect_same want.csv got.csv
    expect_same want.txt got.txt
  done
  for how in '-a yinyang' '-a yinyang --groups 1' '-a yinyang --groups 50' '--bisector on' '--bisector off'; do
    # shellcheck disable=SC2086
    run fit points.csv -k 50 -q $how -o got.csv -l got.txt
    expect_rc 0
    expect_same want.csv got.csv
    expect_same want.txt got.txt
  done
  run fit points.csv -k 50 --verify && expect_out '^verified: yes'
}

# prunes RULE OPTION...: how often the rule held.
prunes() {
  rm -f stats.json
  run fit points.csv -k 50 -q --stats stats.json "${@:2}"
  stats "['trace']" | grep -oE "'$1': [0-9]+" | awk '{ sum += $2 } END { print sum + 0 }'
}

test_groups_and_bisector_are_heard() {
  [ "$(prunes bisector -a dualtree)" -gt 0 ] || fail 'the bisector rule never held'
  [ "$(prunes bisector -a dualtree --bisector off)" = 0 ] || fail '--bisector off'
  [ "$(prunes group -a yinyang --groups 1)" = 0 ] || fail 'a single group has no other to be passed over'
  [ "$(prunes group -a yinyang --groups 5)" = "$(prunes group -a yinyang)" ] || fail 'a tenth of 50 is 5'
  [ "$(prunes group -a yinyang --groups 25)" -gt "$(prunes group -a yinyang)" ] || fail 'more groups, more prunes'
}

test_outputs_by_suffix() {
  for suffix in csv tsv txt npy csv.gz txt.zst npy.gz; do
    run fit four.csv -k 2 -q -o "c.$suffix" -l "l.$suffix"
    expect_rc 0
    run predict four.csv --centroids "c.$suffix" -l again.csv && expect_rc 0
    expect_same again.csv l.csv
  done
  expect_lines l.txt "$(<l.csv)"
}

test_initial_centroids_H37() {
  run fit five.csv -k 2 -I init01.csv --max-iter 1 -q -o a.csv && expect_rc 0
  run fit five.csv -k 2 --initial-centroids init030.csv --max-iter 1 -q -o b.csv && expect_rc 0
  expect_lines a.csv $'0\n12.5'
  expect_lines b.csv $'5\n30'
  printf '0\n1\n2\n' >three.csv
  run fit five.csv -k 2 -I three.csv
  expect_error 1 'three.csv.*3 × 1.*2 × 1'
  printf '0,1\n2,3\n' >square.csv
  run fit five.csv -k 2 -I square.csv
  expect_error 1 'square.csv.*2 × 2.*2 × 1'
  run fit five.csv -k 2 -I init01.csv --init random
  expect_error 2 '--init'
  run fit five.csv -k 2 -I init01.csv --restarts 3
  expect_error 2 '--restarts'
  run fit five.csv -k 2 -I init01.csv --seed 7
  expect_error 2 '--seed.*--initial-centroids'
  run fit five.csv -k 2 -I init01.csv --seed 0 && expect_rc 0
  run fit five.csv -k 2 -I missing.csv
  expect_error 1 'missing.csv'
}

test_empty_clusters() {
  printf '1\n11\n500\n' >far.csv
  run fit six.csv -k 3 -I far.csv -e && expect_rc 0 && expect_out '^inertia: 4$' && expect_out '^empty clusters: 1$'
  run fit six.csv -k 3 -I far.csv --allow-empty && expect_out '^inertia: 4$'
  run fit six.csv -k 3 -I far.csv --empty keep && expect_out '^inertia: 4$'
  run fit six.csv -k 3 -I far.csv --empty relocate && expect_out '^inertia: 2.5$'
  run fit six.csv -k 3 -I far.csv && expect_out '^inertia: 2.5$'
  run fit six.csv -k 3 --empty drop
  expect_error 2 "'drop': expected one of relocate, keep"
  run fit six.csv -k 3 -e --empty keep
  expect_error 2 '--empty'
}

test_weights() {
  printf '1\n1\n1\n3\n' >w.csv
  run fit four.csv -k 2 -I init01.csv --weights w.csv -q -o c.csv && expect_rc 0
  expect_lines c.csv $'0.5\n10.75'
  run fit four.csv -k 2 --weights five.csv
  expect_error 1 '5.*4|4.*5'
  printf '1\n1\n-1\n3\n' >w.csv
  run fit four.csv -k 2 --weights w.csv
  expect_error 1 '-1|negative|weight'
}

test_when_it_ends_H30() {
  for most in 1 2 3; do
    run fit points.csv -k 20 --max-iter "$most" --stats stats.json
    expect_rc 0
    expect_out "^iterations: $most$"
    expect_out '^converged: no \(--max-iter reached\)$'
    expect_err '^kopse: warning: '
    [ "$(stats '["converged"]') $(stats '["reason"]')" = 'False max_iter' ] || fail 'the JSON says otherwise'
  done
  head -n 10 points.csv >ten.csv
  run fit ten.csv -k 3 --max-iter 1234 && expect_rc 0 && expect_out '^iterations: .$' && expect_out '^converged: yes'
  run fit points.csv -k 20 --tol 1e300 && expect_rc 0 && expect_out '^iterations: 1$' && expect_out '^converged: no .*tolerance'
  run fit points.csv -k 20 --tol 0 && expect_out '^converged: yes'
}

test_more_clusters_than_points_H11() {
  run fit init01.csv -k 8 -o none.csv && expect_error 2 '8.*2'
  expect_no_file none.csv
  run fit init01.csv -k 8 --init random && expect_error 2 '8.*2'
}

test_input_errors() {
  run fit missing.csv -k 2 && expect_error 1 'missing.csv'
  run fit . -k 2 && expect_error 1 'directory'
  cp four.csv data.xyz
  run fit data.xyz -k 2
  expect_rc 2
  expect_err 'data.xyz'
  run fit four.csv -k 2 --columns 7 && expect_error 2 'column 7'
}

test_values_that_are_not_numbers_H26() {
  for value in nan inf -inf; do
    sed "538s/,[^,]*,/,$value,/" points.csv >bad.csv
    run fit bad.csv -k 5 -o none.csv -l none.txt
    expect_error 1 'bad.csv:538:2'
    expect_no_file none.csv
    run info bad.csv && expect_error 1 'bad.csv:538:2'
  done
  head -n 2 points.csv >init.csv
  sed '2s/,[^,]*,/,nan,/' init.csv >bad_init.csv
  run fit points.csv -k 2 -I bad_init.csv && expect_error 1 'bad_init.csv:2:2'
  run predict points.csv --centroids bad_init.csv -l none.txt && expect_error 1 'bad_init.csv:2:2'
  run predict bad.csv --centroids init.csv -l none.txt && expect_error 1 'bad.csv:538:2'
  expect_no_file none.txt
}

# The name of another command is that of a file, and is not run.
test_one_command_a_line() {
  run info four.csv fit && expect_error 1 'cannot read fit: No such file'
  cp four.csv fit
  run info --format csv four.csv fit && expect_rc 0 && expect_out '^rows: 8'
  rm fit
}

test_outputs_are_checked_first() {
  # The data are missing too: what is said tells which was looked at first.
  run fit missing.csv -k 2 -o c.foo && expect_error 2 '--centroids-out c.foo.*\.csv.*\.npy'
  run fit missing.csv -k 2 -l l && expect_error 2 '--labels-out l:'
  run fit missing.csv -k 2 --stats s.txt && expect_error 2 '--stats s.txt.*\.json'
  run fit missing.csv -k 2 --report r.pdf && expect_error 2 '--report r.pdf.*\.html'
  run fit missing.csv -k 2 -o no/where/c.csv && expect_error 1 '--centroids-out: cannot write no/where/c.csv: the directory no/where does not exist'
  run predict missing.csv --centroids c.csv -l no/l.csv && expect_error 1 '--labels-out: cannot write no/l.csv: the directory no '
  mkdir -p folder.csv
  run fit missing.csv -k 2 -o folder.csv && expect_error 1 'folder'
  run fit four.csv -k 2 -o same.csv -l ./same.csv && expect_error 2 '--labels-out ./same.csv.*--centroids-out same.csv'
  expect_no_file same.csv
  run fit four.csv -k 2 -o "$work/four.csv" && expect_error 2 'would overwrite the data'
  ln -sf four.csv link.csv
  run fit link.csv -k 2 -o four.csv && expect_error 2 'would overwrite the data'
  run fit four.csv -k 2 -I init01.csv -o init01.csv && expect_error 2 '--centroids-out init01.csv would overwrite --initial-centroids'
  mkdir -p locked && chmod 555 locked
  : >old.csv && chmod 444 old.csv
  if [ "$(id -u)" != 0 ]; then
    run fit missing.csv -k 2 -o locked/c.csv && expect_error 1 'cannot write locked/c.csv: no file can be made in its directory'
    run fit missing.csv -k 2 -o old.csv && expect_error 1 'cannot write old.csv: Permission denied'
  fi
}

test_links_to_files_that_are_not_there() {
  ln -sf gone/real.csv nowhere.csv
  ln -sf loop.csv loop.csv
  run fit missing.csv -k 2 -o nowhere.csv && expect_error 1 '--centroids-out: cannot write nowhere.csv: the directory gone does not exist'
  run fit missing.csv -k 2 -o loop.csv && expect_error 1 '--centroids-out: cannot write loop.csv: Too many levels of symbolic links'
  rm -f real.csv && ln -sf real.csv dangling.csv
  run fit four.csv -k 2 -o dangling.csv -l real.csv && expect_error 2 '--labels-out real.csv would overwrite --centroids-out dangling.csv'
  run fit four.csv -k 2 -q -l dangling.csv && expect_rc 0
  [ "$(readlink dangling.csv)" = real.csv ] || fail 'the link does not keep pointing'
  [ "$(wc -l <real.csv)" = 4 ] || fail 'its target was not made'
}

test_text_files() {
  printf 'x,y\n1,2\n3,4\n9,9\n' >named.csv
  run fit named.csv -k 1 && expect_rc 0 && expect_out '^n: 3' && expect_err '^kopse: note: .*header.*x,y'
  run fit named.csv -k 1 -q && expect_no_err
  run predict named.csv --centroids named.csv -l l.csv && expect_err '^kopse: note: named.csv: .*header'
  printf '2019,2020\n1,2\n3,4\n' >years.csv
  run info years.csv --header no && expect_out '^rows: 3'
  run info years.csv --header yes && expect_out '^rows: 2' && expect_out '2019'
  run info years.csv --header auto && expect_rc 0
  for word in comma tab semicolon space; do
    case $word in comma) c=, ;; tab) c=$'\t' ;; semicolon) c=';' ;; space) c=' ' ;; esac
    printf '1%s2\n3%s4\n' "$c" "$c" >separated.txt
    run info separated.txt --delimiter "$word" && expect_rc 0 && expect_out '^columns: 2'
    run info separated.txt --delimiter "$c" && expect_rc 0 && expect_out '^columns: 2'
    run info separated.txt && expect_out '^columns: 2'
  done
  run fit points.csv --columns 2 -k 3 -q -o c.csv && expect_rc 0
  cut -d, -f3 points.csv >third.csv
  run fit third.csv -k 3 -q -o d.csv && expect_same c.csv d.csv
  run fit points.csv --columns 2,0 -k 3 && expect_out '^d: 2'
  run info points.csv --columns 2,0:2 && cp out listed && run info points.csv --columns 2,0,1 && expect_same out listed
  expect_out '^columns: 3'
  for range in 2:2 2:1 :2 1: 0:1:2 0:99999999; do
    run info points.csv --columns "$range" && expect_error 2 "--columns $range: '$range': a whole number of at least 0 is expected, or A:B"
  done
}

test_info() {
  run info four.csv
  expect_rc 0
  for line in 'file: four.csv' 'rows: 4' 'columns: 1' 'type: float64' 'mapped: no' ' *0 +0 +5.5 +11 +5.024938'; do
    expect_out "^$line"
  done
  run info four.npy && expect_out '^type: float32' && expect_out '^mapped: yes'
  run info -i four.npy && expect_rc 0
}

test_info_of_trees() {
  for tree in kd kd-median ball octree cover; do
    run info points.csv --tree "$tree" --leaf-size 5 --stats stats.json
    expect_rc 0
    for line in "tree: $tree \\(leaf size 5\\)" 'nodes: [0-9]+' 'leaves: [0-9]+' 'depth: [0-9]+'; do expect_out "^$line\$"; done
    [ "$(stats '["tree"]["name"]') $(stats '["n"]') $(stats '["tree"]["leaf_size"]')" = "$tree 3000 5" ] || fail 'the JSON says otherwise'
    for field in nodes leaves depth; do expect_out "^$field: $(stats "['tree']['$field']")\$"; done
  done
  expect_out '^base: 2$' && expect_out '^imbalance: [0-9]+$'
  expect_out '^expansion constant: at least [0-9.]+ \(mean ratio [0-9.]+\)$'
  run info four.csv --tree cover --leaf-size 1 && expect_rc 0 && expect_out '^leaves: 4$'
  run info four.csv --stats stats.json
  [ "$(stats '["columns"][0]["mean"]') $(stats '.get("tree")')" = '5.5 None' ] || fail 'mean, no tree'
  run info four.csv --tree oak && expect_error 2 "unknown --tree 'oak': expected one of kd,"
  run info missing.csv --stats s.txt && expect_error 2 '--stats s.txt.*\.json'
  run info four.csv --leaf-size 0 && expect_error 2 'leaf-size'
}

test_float32_gives_the_same() {
  run fit four.npy -k 2 -q -o a.csv -l a.txt && expect_rc 0
  run fit four.csv -k 2 -q -o b.csv -l b.txt && expect_same a.csv b.csv && expect_same a.txt b.txt
}

test_predict() {
  run fit points.csv -k 30 -q -o c.csv -l want.csv
  run predict points.csv --centroids c.csv -l got.csv
  expect_rc 0
  expect_out '^wrote: got.csv'
  expect_same want.csv got.csv
  run predict -i points.csv --centroids c.csv --labels-out got.csv -q --threads 2 && expect_same want.csv got.csv
  [ ! -s out ] || fail 'quiet is not'
  run predict four.csv --centroids c.csv -l got.csv && expect_error 1 'four.csv has 1 column.* 3'
}

test_auto_says_what_it_chose() {
  run fit points.csv -k 10 --stats stats.json
  expect_out '^algorithm: auto: lloyd$'
  [ "$(stats '["algorithm"]') $(stats '["tree"]')" = 'auto ' ] || fail 'names'
  [ "$(stats '["choices"]')" = "[{'iteration': 1, 'algorithm': 'lloyd', 'why': 'little work'}]" ] || fail 'choices'
  run fit points.csv -k 200 --tree ball --stats stats.json --report page.html
  expect_out '^algorithm: auto: frontier \(ball tree\)$'
  [ "$(stats '["tree"]') $(stats '["choices"][0]["why"]')" = 'ball few columns' ] || fail 'the tree'
  grep -q 'few columns' page.html || fail 'the page does not say why'
  run fit points.csv --columns 1 -k 200 -a auto
  expect_out '^algorithm: auto: line$'
  run fit points.csv -k 200 -q -a lloyd --stats stats.json
  [ "$(stats '.get("choices")')" = None ] || fail 'lloyd chooses nothing'
}

test_stats() {
  run fit points.csv -k 10 -q --seed 7 --threads 2 -a dualtree --stats stats.json
  expect_rc 0
  python3 -m json.tool stats.json >/dev/null || fail 'not JSON'
  [ "$(stats '["n"]') $(stats '["d"]') $(stats '["k"]')" = '3000 3 10' ] || fail 'n, d, k'
  [ "$(stats '["seed"]') $(stats '["threads"]')" = '7 2' ] || fail 'seed, threads'
  [ "$(stats '["algorithm"]') $(stats '["tree"]') $(stats '["reason"]')" = 'dualtree kd labels' ] || fail 'names'
  [ "$(stats '["iterations"]')" = "$(python3 -c 'import json; print(len(json.load(open("stats.json"))["trace"]))')" ] ||
    fail 'the trace does not have one object an iteration'
  [ "$(stats '["trace"][0]["labels_changed"]')" = 3000 ] || fail 'the first iteration changes all labels'
  [ "$(stats '["trace"][-1]["labels_changed"]')" = 0 ] || fail 'the last iteration changes none'
  [ "$(stats '["pass_seconds"] > 0')$(stats '["peak_bytes"] > 1e6')" = TrueTrue ] || fail 'pass_seconds, peak_bytes'
  [ "$(stats '["seconds"].keys()')" = "dict_keys(['load', 'tree', 'seed', 'iterate', 'write'])" ] || fail 'phases'
  run fit points.csv -k 10 -q -a lloyd --stats stats.json
  [ "$(stats '["trace"][0]["distances"]')" = 30000 ] || fail 'brute force computes n·k distances'
  [ "$(stats '["tree"]')" = '' ] || fail 'lloyd has no tree'
}

# Starts a long fit in the background (its files: c.csv, l.csv), ends it by a signal, and leaves its exit code in rc.
end_by() {
  rm -f c.csv l.csv
  : >err
  ls -A >before
  "$kopse" fit points.csv -k 2500 -a lloyd --restarts 1000000 -v -o c.csv -l l.csv >out 2>err &
  until grep -q 'iteration' err; do sleep 0.05; done
  kill -"$1" $!
  rc=0
  wait $! || rc=$?
  ls -A >after
}

test_signals_H33() {
  : >after
  end_by INT
  expect_rc 130
  expect_same before after
  end_by TERM
  expect_rc 143
  expect_same before after
}

test_writing_to_a_closed_pipe() {
  rm -f closed
  {
    until [ -e closed ]; do sleep 0.05; done
    rc=0
    "$kopse" info four.csv 2>err || rc=$?
    echo "$rc" >code
  } | {
    exec <&-
    : >closed
  }
  : >out
  rc=$(<code)
  expect_error 1 'standard output'
}

test_writing_to_a_full_disk() {
  [ -w /dev/full ] || return 0
  rc=0
  "$kopse" fit four.csv -k 2 >/dev/full 2>err || rc=$?
  : >out
  expect_error 1 'standard output'
}

# What is written last cannot be: nothing of the run is, and what was there before stays.
test_outputs_appear_together_or_not_at_all() {
  mkdir -p together && ls -A together >before
  for command in 'fit points.csv -k 3 -o together/c.csv -l together/l.npy' \
    'seed points.csv -k 3 -o together/c.csv --rows-out together/l.txt' \
    'choose-k points.csv -k 1:3 --x-means -o together/c.csv -l together/l.npy'; do
    rm -f together/*
    # shellcheck disable=SC2086
    run $command --stats together/stats.json -q && expect_rc 0
    rm together/stats.json
    for file in together/*; do echo old >"$file"; done
    ls -A together >before
    if [ -w /dev/full ]; then
      ln -s /dev/full together/full.json
      # shellcheck disable=SC2086
      run $command --stats together/full.json -q && expect_error 1 'cannot write together/full.json: No space left on device'
      rm together/full.json
    fi
    ls -A together >after
    expect_same before after
    for file in together/*; do expect_lines "$file" old; done
  done
}

test_limit_on_file_sizes() {
  printf 'old\n' >c.csv
  printf 'old\n' >l.npy
  : >after
  ls -A >before
  rc=0
  (ulimit -f 2 && exec "$kopse" fit points.csv -k 3 -o c.csv -l l.npy -q) >out 2>err || rc=$?
  expect_error 1 'cannot write l.npy: File too large$'
  ls -A >after
  expect_same before after
  expect_lines c.csv old
  expect_lines l.npy old
  rm -f c.csv l.npy
}

test_progress_on_a_terminal() {
  command -v script >/dev/null || return 0
  rc=0
  script -qec "'$kopse' fit points.csv -k 2500 -a lloyd --max-iter 20" /dev/null >out 2>err </dev/null || rc=$?
  expect_rc 0
  expect_out $'\r''iteration [0-9]+: .* labels changed, inertia .* % pruned'
  expect_out $'\r\e\\[K'
  script -qec "'$kopse' fit points.csv -k 2500 -a lloyd --max-iter 20 -q" /dev/null >out 2>err </dev/null || rc=$?
  if grep -q 'iteration' out; then fail 'quiet is not'; fi
}

run_tests
