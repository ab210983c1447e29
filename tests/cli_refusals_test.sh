#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program from the outside: command lines that cannot be right, and what is said of them.
# Usage: cli_refusals_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"
printf '0\n1\n2\n10\n11\n12\n' >six.csv
printf '0\n1\n' >init01.csv

test_numbers_of_options() {
  for wrong in '-k 0' '-k -1' '-k abc' '-k 1e3' '-k 2.5' '-k 0x10' '--max-iter 0' '--restarts 0' '--leaf-size 0' \
    '--threads 0' '--groups -1' '--groups x' '--tol -1' '--tol nan' '--tol inf' '--tol x' '--seed -1' '--columns 0,,1' '--columns -1' '--columns x' '--rows 1' '--rows :' \
    '--rows 2:1' '--rows 1:1' '--rows -1:' '--rows a:b' '--raw uint8' '--raw uint8:0' '--raw int:3' '--raw uint8:3x' '--raw uint8:3@'; do
    # shellcheck disable=SC2086
    run fit four.csv -k 2 $wrong
    expect_rc 2
    expect_err '^kopse: '
    [[ $wrong == -k* ]] || expect_err "${wrong% *}"
  done
  run fit four.csv -k 0 && expect_error 2 "--clusters '0': a whole number from 1 to 2147483647 is expected"
  run fit four.csv -k 99999999999999999999 && expect_error 2 "'9*': a whole number from 1 to 2147483647 is expected"
  run fit four.csv -k 2 --threads 2147483648 && expect_error 2 "'2147483648': a whole number from 1 to 2147483647 is expected"
  run fit four.csv -k 2 --seed 18446744073709551616 && expect_error 2 ': a whole number from 0 to 18446744073709551615 is expected'
  run fit four.csv -k 2 --max-iter 9223372036854775808 && expect_error 2 ': a whole number from 1 to 9223372036854775807 is expected'
  run choose-k four.csv -k 18446744073709551615 && expect_error 2 "k '18446744073709551615': expected numbers from 1 to 9223372036854775807"
  for large in 1e400 inf; do
    run fit four.csv -k 2 --tol "$large" && expect_error 2 "--tol '$large': a number of at least 0 is expected, at most 1.8e308"
    run seed four.csv -k 2 -o none.csv --oversampling "$large" && expect_error 2 ': a number above 0 is expected, at most 1.8e308'
  done
  run fit four.csv -k 2 --tol 1e-400 && expect_error 2 "--tol '1e-400': the number is too small for a double"
  run fit four.csv -k 2 --tol 1e-300 && expect_rc 0
  run fit four.csv -k 2 --groups -3 && expect_error 2 "--groups '-3': a whole number of at least 0 is expected"
  run fit four.csv -k 010 && expect_error 2 'k = 10.* 4 '
}

test_names() {
  run fit four.csv -k 2 -a quick && expect_error 2 "'quick'.*lloyd.*dualtree"
  printf '0,1\n2,3\n' >plane.csv
  run fit plane.csv -k 2 -a line && expect_error 2 "algorithm 'line' is for one column, and the data have 2"
  run fit six.csv -k 2 -q -a line && expect_rc 0
  run fit four.csv -k 2 --tree oak && expect_error 2 "'oak'.*kd"
  run fit four.csv -k 2 --init best && expect_error 2 "'best'.*random"
  run fit four.csv -k 2 --bisector no && expect_error 2 "unknown --bisector 'no': expected one of on, off"
  run fit four.csv -k 2 --header maybe && expect_error 2 "'maybe'.*auto, yes, no"
  for wrong in '--header no' '--header yes' '--delimiter tab'; do
    # shellcheck disable=SC2086
    run fit none.npy -k 2 $wrong && expect_error 2 "${wrong%% *}: without effect on a .npy file"
    # shellcheck disable=SC2086
    run fit four.csv none.fvecs.gz -k 2 $wrong && expect_error 2 "${wrong%% *}: without effect on a .fvecs file"
    # shellcheck disable=SC2086
    run fit four.csv -k 2 --raw uint8:1 $wrong && expect_error 2 "${wrong%% *}: without effect beside --raw"
  done
  run fit four.csv -k 2 --raw uint8:1 --format csv && expect_error 2 '--format: without effect beside --raw'
  run fit four.csv -k 2 --delimiter pipe && expect_error 2 "'pipe'.*tab, comma, semicolon, space"
}

test_command_lines_that_cannot_be_right() {
  run fitt && expect_error 2 "'fitt'.*fit, predict, seed, choose-k, info"
  run fit && expect_error 2 'no data'
  run fit four.csv && expect_error 2 'number of clusters'
  run fit -k 2 && expect_error 2 'no data'
  run fit four.csv -k && expect_error 2 '--clusters needs a value'
  run fit four.csv -k 1 -k 2 && expect_error 2 '--clusters was given more than once'
  run fit four.csv -k 2 --sead 1 && expect_error 2 '--sead was not expected'
  run fit four.csv -k 2 --sead=1 && expect_error 2 '--sead was not expected'
  run seed four.csv -k 2 --groups 2 && expect_error 2 '' && expect_err '^kopse: --groups was not expected \(see kopse seed --help'
  run fit four.csv -k 2 --verify=maybe && expect_error 2 '--verify takes no value'
  run predict four.csv -l l.csv && expect_error 2 '--centroids'
  run predict four.csv --centroids init01.csv && expect_error 2 '--labels-out'
  run info && expect_error 2 'no data'
}

# Every option that takes a value, of every command.
test_empty_values() {
  for command in fit predict seed choose-k info; do
    "$kopse" "$command" --help | grep -oE -- '--[a-z-]+ [A-Z]+' | cut -d' ' -f1 >options
    [ "$(wc -l <options)" -gt 5 ] || fail "$command has more options"
    while read -r option; do
      run "$command" four.csv "$option" '' && expect_error 2 "$option: a value that is not empty is expected"
    done <options
    run "$command" '' && expect_error 2 '--input: a value that is not empty is expected'
  done
  run fit four.csv -k 2 -o '' && expect_error 2 '--centroids-out: '
}

# Cut at 40 bytes, and nothing that a terminal would act on.
test_long_and_strange_values() {
  long=$(printf '%060d' 0 | tr 0 a) cut=$(printf '%040d' 0 | tr 0 a)
  for option in --header --delimiter --columns --tol --seed --init -k -a --tree --bisector --empty; do
    run fit four.csv -k 2 "$option" "$long"
    [ "$option" != -k ] || run fit four.csv "$option" "$long"
    expect_error 2 "[ '\"]$cut\.\.\.[:']"
  done
  run choose-k four.csv -k "$long" && expect_error 2 "k '$cut\.\.\.'"
  run choose-k four.csv -k 1,5:2,"$long" && expect_error 2 "k '5:2': the last is below the first"
  run "$long" && expect_error 2 "unknown command '$cut\.\.\.'"
  run fit four.csv -k 2 "--$long" && expect_error 2 '--a{38}\.\.\. was not expected'
  run fit four.csv -k 2 --rows "$long" && expect_error 2 "--rows '$cut\.\.\.'"
  run fit four.csv -k 2 --raw "$long" && expect_error 2 "--raw '$cut\.\.\.'"
  run fit four.csv -k 2 --format "$long" && expect_error 2 "unknown format $cut\.\.\."
  run fit four.csv -k 2 "--quiet=$long" && expect_error 2 '--quiet takes no value'
  run fit four.csv -k $'2\n\e[31m' && expect_error 2 "--clusters '2\\\\x0a\\\\x1b\[31m': "
  run fit $'no\nfile.csv' -k 2 && expect_error 1 'no\\x0afile.csv: '
  run fit four.csv -k 2 --init $'\xff\t' && expect_error 2 "unknown init '\\\\xff\\\\t': "
}

run_tests
