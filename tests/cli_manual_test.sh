#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The manual page and the completion of words: from the options of --help, and all of them.
# Usage: cli_manual_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

test_page_has_all_that_help_has() {
  run --man-page
  expect_rc 0
  expect_no_err
  sed 's/\\f[BRI]//g; s/\\-/-/g' out >page
  for command in fit predict seed choose-k info; do
    grep -q "^.SS kopse $command" page || fail "no section on $command"
    "$kopse" "$command" --help | grep -oE -- '^  (-[a-zA-Z], )*--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u |
      while read -r option; do grep -qE -- "(^|, )$option( |,|\$)" page || fail "$command: no $option"; done
  done
  grep -q '^ *kopse fit points.csv -k 10 -o' page || fail 'no examples'
}

test_page_is_well_formed() {
  command -v groff >err || return 0 # part of any system with manual pages
  "$kopse" --man-page | groff -man -Tutf8 -ww >page 2>warnings || fail 'groff'
  [ ! -s warnings ] || fail "groff: $(head -c 300 warnings)"
}

# complete_words WORD...: what is offered for the last of them.
complete_words() {
  COMP_WORDS=(kopse "$@")
  COMP_CWORD=$#
  _kopse
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
expect_words() { [ "$1" = "$2" ] || fail "offered '$1', not '$2'"; }

test_completion() {
  "$kopse" --bash-completion >script
  # shellcheck disable=SC1091
  . ./script
  expect_words "$(complete_words '')" '--help --version choose-k fit info predict seed'
  expect_words "$(complete_words 'fi')" 'fit'
  expect_words "$(complete_words fit four.csv --max)" '--max-iter'
  expect_words "$(complete_words fit four.csv -a dual)" 'dualtree'
  expect_words "$(complete_words fit four.csv --tree k)" 'kd kd-median'
  expect_words "$(complete_words info four.csv --tree o)" 'octree'
  expect_words "$(complete_words fit --empty '')" 'keep relocate'
  expect_words "$(complete_words fit four.csv -k '')" ''
  expect_words "$(complete_words fit four.csv --weights po)" 'points.csv'
  expect_words "$(complete_words fit fo)" 'four.csv'
  expect_words "$(complete_words fit -q fo)" 'four.csv' # -q, --resume take no value
  expect_words "$(complete_words fit --resume fo)" 'four.csv'
  expect_words "$(complete_words choose-k four.csv --warm '')" 'off on'
  expect_words "$(complete_words fit --algorithm = fro)" 'frontier' # one word to the program, three to bash
  for word in $(complete_words fit -a ''); do
    run fit four.csv -k 1 -q -a "$word" && expect_rc 0
  done
  for word in $(complete_words fit --init ''); do
    run fit four.csv -k 2 -q --init "$word" && expect_rc 0
  done
}

run_tests
