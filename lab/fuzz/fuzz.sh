#!/usr/bin/env bash
# Fuzzes: make fuzz. Every target for FUZZTIME; those that read what strangers send for FUZZLONG. FUZZ names the
# targets to run, all by default.
#
# The corpus is kept: seeds and finds in testdata/fuzz of the package, for the repository; what only covers more
# code in Go's cache (go env GOCACHE, folder fuzz), for the next run here. A find is a file to commit with its fix.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/flags.sh
time=${FUZZTIME:-10s}
long=${FUZZLONG:-$time}
exposed=(FuzzBidRequest FuzzBidEndpoint FuzzNativeRequest FuzzMessage FuzzWebhook)

found=()
while IFS=: read -r file line; do
  name=${line#func }
  found+=("$(dirname "$file") ${name%%(*}")
done < <(grep -rE '^func Fuzz' --include='*_test.go' --exclude-dir='.?*' . | sort) # not in the copies of make sdks
has() {
  local target
  for target in "${found[@]}"; do
    [ "${target#* }" != "$1" ] || return 0
  done
  return 1
}
for name in "${exposed[@]}" ${FUZZ:-}; do
  has "$name" || { echo "fuzz.sh: there is no target $name"; exit 1; }
done

# Each run is a process group of its own, so that a stop of this script ends the workers too: `go test` that is
# terminated leaves them behind.
set -m
group=
log=$(mktemp)
stop() {
  [ -n "$group" ] || return 0
  kill -INT -- "-$group" 2>/dev/null || return 0
  for _ in {1..50}; do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null || true
}
trap 'stop; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Minimising is bounded by tries: where answers hold random ids it would never end.
fuzz() { # package target time
  (go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" -fuzzminimizetime 100x "$1" </dev/null 2>&1 | tee "$log") &
  group=$!
  local status=0
  wait "$group" || status=$?
  stop
  group=
  return "$status"
}

# Whether a failure is Go's own, https://go.dev/issue/75804 (mended in Go 1.27): the end of the fuzz time, seen an
# instant too early, is reported as the target's failure. A find always names the test that failed in that place.
end_of_time() { # target
  grep -A1 "^--- FAIL: $1 " "$log" | tail -n 1 | grep -qx '    context deadline exceeded'
}

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
  for _ in 1 2 3; do # a target is done only when a whole run of it has passed
    fuzz "$package" "$target" "$for_long" && continue 2
    end_of_time "$target" || break
    echo "$target ended by https://go.dev/issue/75804, not by a find: once more"
  done
  failed+=("$package $target")
done
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
echo "fuzzed ${#chosen[@]} targets in $SECONDS s: no finds"
