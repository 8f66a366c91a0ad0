#!/usr/bin/env bash
# breaks.sh SUITE [OPTION...]: builds adnet without a cure, once for each that the suite can omit:
# a run must notice each, by the breach that this cure prevents.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1
shift
missed=0
for cure in $(go run "./lab/$suite" --cures); do
  line=$(go run "./lab/$suite" "$@" --break "$cure" | tail -n 1) || true
  if grep -q '"noticed":true' <<<"$line"; then
    echo "noticed without $cure: $line"
  else
    echo "NOT NOTICED without $cure: $line"
    missed=1
  fi
done
exit "$missed"
