#!/usr/bin/env bash
# Builds the SDKs, npm and Python, and tests them: make sdks. It runs the shared table of cases
# against a mock of openapi.json and against `adnet standalone`, the packages as published, the
# examples, the code of docs/integrating.md, and reported failures (../shared/cases). Third-party packages are pinned (npm packages by
# hash) and installed into .adnet/sdks. Node, npm, Python and Chromium are installed as root
# (Debian). Elsewhere it reports missing programs, and with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/flags.sh
work=$PWD/.adnet/sdks
missing() {
  local name
  for name in node npm python3; do command -v "$name" >/dev/null || echo "$name"; done
  python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}
if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm python3 python3-venv >/dev/null
fi
if [ -n "$(missing)" ]; then
  echo "not tested: missing $(missing | tr '\n' ' ')(Debian: apt-get install nodejs npm python3-venv)"
  [ "${CI:-}" != true ]
  exit
fi
deploy/chromium.sh
step() { echo "sdks: $* ($SECONDS s)"; }
# Installs the packages of a lock file unless they are present.
packages() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed" && return
  (cd "$1" && npm ci --ignore-scripts --loglevel=error >/dev/null)
  cp "$1/package-lock.json" "$1/node_modules/.installed"
}
# Copies a folder of the repository into .adnet, beside its packages.
workplace() {
  mkdir -p "$work/$1"
  find "$work/$1" -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
  tar -C "$1" --exclude=node_modules --exclude=dist -cf - . | tar -C "$work/$1" -xf -
}
mkdir -p "$work"
step adnet
go build -o "$work/adnet" .

step "third-party packages"
for folder in schemas/openapi web/sdk web/shared ingress/mcp sdk/cases sdk/python sdk/test examples docs; do workplace "$folder"; done
for folder in web/sdk sdk/test examples; do packages "$work/$folder"; done
python=$work/venv/bin/python
if ! cmp -s sdk/python/requirements.txt "$work/venv/.installed"; then
  rm -rf "$work/venv"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check -r sdk/python/requirements.txt
  cp sdk/python/requirements.txt "$work/venv/.installed"
fi

step build
rm -rf "$work/out"
mkdir -p "$work/out"
(cd "$work/web/sdk" && npm run --silent build >/dev/null && npm pack --silent --pack-destination "$work/out" >/dev/null)
(cd "$work/sdk/python" && ./generate.sh "$work/venv/bin" && "$python" -m build --no-isolation --outdir "$work/out" . >/dev/null 2>&1)
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
step "the npm package"
(cd "$work/sdk/test" && with "$work/adnet" node --test --test-concurrency=1 --test-reporter=spec package.test.mjs)
step "examples and docs/integrating.md"
(cd "$work/examples" && with "$work/adnet" node --test --test-concurrency=1 --test-reporter=spec test/*.test.mjs)
step "reported failures"
go run ./lab/cases --binary "$work/adnet" --sdk "$work/web/sdk/dist" --python "$python" --source "$work/sdk/python/src"
step done
