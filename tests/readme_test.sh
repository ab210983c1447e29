#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# readme_test.sh KOPSE: the commands in README.md's ```console blocks print what stands below them, times aside.
set -euo pipefail
program=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/data" data
kopse() { "$program" "$@"; }

awk '/^```console$/ { shown = 1; next } /^```$/ { shown = 0 } shown' "$root/README.md" >expected
grep -q '^\$ kopse' expected
grep '^\$ ' expected | while IFS= read -r line; do
  printf '%s\n' "$line"
  eval "${line#\$ }" </dev/null 2>&1
done >printed

timeless() { sed 's/^seconds: .*/seconds:/' "$1"; }
diff <(timeless expected) <(timeless printed)
