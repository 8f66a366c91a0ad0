#!/usr/bin/env bash
# Builds adnet without a cure, once for each that the suite can take out: a run must notice each, by
# the breach that this cure prevents. Needs the servers: make hostile-breaks.
set -euo pipefail
cd "$(dirname "$0")/../.."
missed=0
for cure in $(go run ./lab/hostile --cures); do
  line=$(go run ./lab/hostile --short --break "$cure" | tail -n 1) || true
  if grep -q '"noticed":true' <<<"$line"; then
    echo "noticed without $cure: $line"
  else
    echo "NOT NOTICED without $cure: $line"
    missed=1
  fi
done
exit "$missed"
