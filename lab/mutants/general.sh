#!/usr/bin/env bash
# Changes operators, bounds and signs of four packages, one at a time, with a general tool (gremlins),
# and runs the tests of the package for each: part of make nightly. It fails if fewer of the covered
# changes are noticed than FLOOR percent. PACKAGES selects others. Reports go to .adnet/mutants.
#
# It works on a copy of the product without the folders that no package here needs, because the tool
# copies the module for each of its workers.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/flags.sh
gremlins=github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
read -ra packages <<<"${PACKAGES:-internal/owed internal/token internal/ledger auction}"
reports=$PWD/.adnet/mutants
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$reports" "$copy/tree"
git ls-files -z -- ':!lab' ':!go.work*' ':!web' ':!sdk' ':!docs' ':!examples' | xargs -0 cp --parents -t "$copy/tree"
GOBIN=$copy go install "$gremlins"
cd "$copy/tree"
export GOWORK=off
failed=()
for package in "${packages[@]}"; do
  echo "== $package"
  # Workers share the processor, so a slow run is not taken for an endless loop. Tests below the
  # package belong to packages of their own.
  "$copy/gremlins" unleash "./$package" --tags nomsgpack -E ".+/" --timeout-coefficient 10 --threshold-efficacy "${FLOOR:-50}" \
    --output-statuses l --output "$reports/${package//\//-}.json" || failed+=("$package")
done
[ ${#failed[@]} = 0 ] || { printf 'too few changes noticed: %s\n' "${failed[@]}"; exit 1; }
