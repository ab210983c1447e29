#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of kopse fit --report: complete in itself, well formed, whatever the data.
# Usage: cli_report_test.sh PATH/TO/kopse
set -euo pipefail
# shellcheck source=tests/cli.sh
. "$(dirname "$(realpath "$0")")/cli.sh"

test_report_is_complete_in_itself() {
  awk 'BEGIN { srand(2); for (i = 0; i < 30000; ++i) { x = rand() - 0.5; y = rand() - 0.5; z = rand() - 0.5
         r = sqrt(x * x + y * y + z * z); printf "%.9f,%.9f,%.9f\n", x / r, y / r, z / r } }' >sky.csv
  cut -d, -f1 points.csv >line.csv
  cut -d, -f1,2 points.csv >plane.csv
  awk -F, '{ print $1 "," $2 "," $3 "," $1 * $2 "," $3 - $1 }' points.csv >five_columns.csv
  cp plane.csv '<b>&"odd".csv'
  for data in sky line plane five_columns '<b>&"odd"' points; do
    run fit "$data.csv" -k 100 --max-iter 3 --report report.html
    expect_rc 0
    [ "$(wc -c <report.html)" -lt 2000000 ] || fail "the report of $data is too large"
    if sed 's|xmlns="http://www.w3.org/2000/svg"||g' report.html | grep -qE 'https?://|<script|@import|url\([^#]'; then
      fail "the report of $data needs something else"
    fi
    python3 - report.html <<'PYTHON' || fail "the report of $data is not well formed"
import re, sys, xml.etree.ElementTree as tree
page = open(sys.argv[1]).read()
pictures = re.findall(r"<svg.*?</svg>", page, re.S)
assert len(pictures) >= 5, len(pictures)
for picture in pictures:
    tree.fromstring(picture)
assert not re.search(r"\b(nan|inf)\b", "".join(pictures)), "a place that is no number"
PYTHON
  done
  run fit '<b>&"odd".csv' -k 3 -q --report report.html
  if ! grep -q '<h1>&lt;b&gt;&amp;&quot;odd&quot;.csv</h1>' report.html; then fail 'the name is not escaped'; fi
  run fit sky.csv -k 100 -q --report report.html
  if ! grep -q 'Mollweide' report.html; then fail 'no map of the sky'; fi
  run fit five_columns.csv -k 4 -q --report report.html
  if ! grep -q 'principal axis 1 (' report.html; then fail 'no principal axes'; fi
}

test_reports_of_hardly_any_data() {
  printf '3,4\n' >one.csv
  printf '2,2,2\n2,2,2\n2,2,2\n' >equal.csv
  printf '5\n5\n' >equal_line.csv
  printf '1,1\n1,2\n1e6,1\n' >outlier.csv
  for data in one equal equal_line outlier; do
    for k in 1 2; do
      [ "$data$k" != one2 ] || continue
      run fit "$data.csv" -k "$k" -q --report report.html
      expect_rc 0
      if grep -qE '"[^"]*\b(nan|inf)\b[^"]*"' report.html; then fail "$data, k = $k: a place that is no number"; fi
    done
  done
}

test_page_of_choose_k() {
  for k in 1 2:64 1:3:1 2,2000; do
    run choose-k points.csv -k "$k" -q --report report.html
    expect_rc 0
    python3 - report.html <<'PYTHON' || fail "the page of k = $k is not well formed"
import re, sys, xml.etree.ElementTree as tree
page = open(sys.argv[1]).read()
pictures = re.findall(r"<svg.*?</svg>", page, re.S)
assert len(pictures) >= 3, len(pictures)
for picture in pictures:
    tree.fromstring(picture)
assert not re.search(r"\b(nan|inf)\b", page), "a number that is none"
PYTHON
  done
  printf '5\n5\n6\n' >equal_line.csv
  run choose-k equal_line.csv -k 1:3:1 -q --report report.html && expect_rc 0
  if grep -qE '\b(nan|inf)\b' report.html; then fail 'equal rows: a number that is none'; fi
}

run_tests
