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

# Each run is a process group of its own, so that a stop of this script ends the workers too: `go test` that is
# terminated leaves them behind.
set -m
group=
stop() {
  [ -n "$group" ] || return 0
  kill -INT -- "-$group" 2>/dev/null || return 0
  for _ in {1..50}; do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

chosen=()
for entry in "${found[@]}"; do
  [ -z "${FUZZ:-}" ] || [[ " $FUZZ " == *" ${entry#* } "* ]] || continue
  chosen+=("$entry")
done

failed=()
n=0
for entry in "${chosen[@]}"; do
  read -r package target <<<"$entry"
  for_long=$time
  [[ " ${exposed[*]} " == *" $target "* ]] && for_long=$long
  echo "== $((n += 1))/${#chosen[@]} $package $target for $for_long"
  # Minimising is bounded by tries: where answers hold random ids it would never end.
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_long" -fuzzminimizetime 100x "$package" </dev/null &
  group=$!
  wait "$group" || failed+=("$package $target")
  stop
  group=
done
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
echo "fuzzed ${#chosen[@]} targets in $SECONDS s: no finds"
