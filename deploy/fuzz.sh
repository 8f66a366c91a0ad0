#!/usr/bin/env bash
# Fuzzes: make fuzz. Every target for FUZZTIME; those that read what strangers send for FUZZLONG. FUZZ names the
# targets to run, all by default.
#
# The corpus is kept: seeds and finds in testdata/fuzz of the package, for the repository; what only covers more
# code in Go's cache (go env GOCACHE, folder fuzz), for the next run here. A find is a file to commit with its fix.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}
long=${FUZZLONG:-$time}
exposed=(FuzzBidRequest FuzzBidEndpoint FuzzNativeRequest FuzzMessage FuzzWebhook)

found=()
while IFS=: read -r file line; do
  name=${line#func }
  found+=("$(dirname "$file") ${name%%(*}")
done < <(grep -rE '^func Fuzz' --include='*_test.go' . | sort)
has() { printf '%s\n' "${found[@]}" | grep -q " $1\$"; }
for name in "${exposed[@]}" ${FUZZ:-}; do
  has "$name" || { echo "fuzz.sh: there is no target $name"; exit 1; }
done

failed=()
for entry in "${found[@]}"; do
  read -r package target <<<"$entry"
  [ -z "${FUZZ:-}" ] || [[ " $FUZZ " == *" $target "* ]] || continue
  for_long=$time
  [[ " ${exposed[*]} " == *" $target "* ]] && for_long=$long
  echo "== $package $target for $for_long"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_long" "$package" || failed+=("$package $target")
done
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
