#!/usr/bin/env bash
# Each fuzz target for the time given: make fuzz. Finds are written to testdata/fuzz of their package.
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r package; do
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$package"/*_test.go | sed 's/^func //'); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done
