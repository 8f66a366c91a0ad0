#!/usr/bin/env bash
# Builds the SDKs, npm and Python, and tests them: make sdks. It runs the shared table of cases
# against a mock of openapi.json and against `adnet standalone`, the packages as published, the
# examples, the code of docs/integrating.md, the snippets of the console, and reported failures
# (../shared/cases). deploy/packages.sh builds; third-party packages are pinned (npm packages by
# hash) and installed into .adnet/sdks. Node, npm, Python and Chromium are installed as root
# (Debian). Elsewhere it reports missing programs, and with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/flags.sh
. deploy/workplace.sh
step() { echo "sdks: $* ($SECONDS s)"; }
step "build and third-party packages"
deploy/packages.sh --build
[ -d "$work/out" ] || exit 0 # it has reported what is missing
deploy/chromium.sh
step adnet
go build -o "$work/adnet" .
for folder in sdk/cases sdk/test examples docs web/console/ui; do workplace "$folder"; done
for folder in sdk/test examples; do packages "$work/$folder"; done
python=$work/venv/bin/python
export ADNET_TARBALL ADNET_WHEEL ADNET_PYTHON=$python ADNET_MANUAL=$work/docs/integrating.md ADNET_OPENAPI=$work/schemas/openapi/openapi.json
ADNET_TARBALL=$(echo "$work"/out/*.tgz) ADNET_WHEEL=$(echo "$work"/out/*.whl)
for folder in sdk/test examples; do
  mkdir -p "$work/$folder/node_modules/@adnet/sdk"
  rm -rf "$work/$folder/node_modules/@adnet/sdk"/*
  tar -C "$work/$folder/node_modules/@adnet/sdk" --strip-components=1 -xzf "$ADNET_TARBALL"
done
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$ADNET_WHEEL"

step types
(cd "$work/examples" && node_modules/.bin/tsc -p .)
(cd "$work/sdk/python" && "$work/venv/bin/mypy" src/adnet tests)
(cd "$work/examples" && "$work/venv/bin/mypy" --config-file "$work/sdk/python/pyproject.toml" mcp-server-python/server.py)
for example in examples/*/*.ts examples/*/*.tsx examples/*/*.py; do
  [ "$(wc -l <"$example")" -le 75 ] || { echo "$example has more than 75 lines"; exit 1; }
done

with() { node "$work/sdk/test/with.mjs" "$@"; }
step "cases with npm"
(cd "$work/sdk/test" && with --mock "$work/adnet" node --test --test-reporter=dot cases.test.mjs render.test.mjs)
step "cases with Python"
(cd "$work/sdk/python" && with --mock "$work/adnet" "$python" -m pytest -q -p no:cacheprovider tests)
step "the npm package, also on its oldest platforms"
(cd "$work/sdk/test" && with "$work/adnet" node --test --test-concurrency=1 --test-reporter=spec package.test.mjs platforms.test.mjs)
step "examples, docs/integrating.md and the snippets of the console"
(cd "$work/examples" && with "$work/adnet" node --test --test-concurrency=1 --test-reporter=spec test/*.test.mjs)
step "reported failures"
go run ./lab/cases --binary "$work/adnet" --sdk "$work/web/sdk/dist" --python "$python" --source "$work/sdk/python/src"
step done
