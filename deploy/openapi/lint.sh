#!/usr/bin/env bash
# Lints schemas/openapi/openapi.json: make lint-openapi. The linters are npm packages, pinned with
# their hashes by package-lock.json and installed into .adnet. Without node and npm nothing is
# checked. With CI=true they are installed, or the script fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
have() { command -v node >/dev/null && command -v npm >/dev/null; }
if ! have && [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm >/dev/null
fi
if ! have; then
  echo "not checked: node and npm are missing (Debian: apt-get install nodejs npm)"
  [ "${CI:-}" != true ]
  exit
fi
here=deploy/openapi
work=.adnet/openapi-lint
mkdir -p "$work"
if ! cmp -s "$here/package-lock.json" "$work/installed"; then
  cp "$here/package.json" "$here/package-lock.json" "$work/"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
  cp "$here/package-lock.json" "$work/installed"
fi
cp "$here/lint.mjs" "$work/"
node "$work/lint.mjs" schemas/openapi/openapi.json
