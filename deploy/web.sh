#!/usr/bin/env bash
# Builds the console, adnet.js and the card of MCP Apps into ingress: make console. The packages are
# pinned with their hashes by web/package-lock.json. With --check it fails unless the committed files
# are current. With --packages it only installs the packages, for the browser tests. Node and npm are
# installed as root (Debian). Elsewhere it reports missing programs, and with CI=true that is a
# failure.
set -euo pipefail
cd "$(dirname "$0")/.."
have() { command -v node >/dev/null && command -v npm >/dev/null; }
if ! have && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm >/dev/null
fi
if ! have; then
  echo "not built: node and npm are missing (Debian: apt-get install nodejs npm)"
  [ "${CI:-}" != true ]
  exit
fi
if ! cmp -s web/package-lock.json web/node_modules/.installed; then
  (cd web && npm ci --ignore-scripts --loglevel=error >/dev/null)
  cp web/package-lock.json web/node_modules/.installed
fi
if [ "${1:-}" = --packages ]; then exit; fi
(cd web && npm run --silent types >/dev/null && npm run --silent check)
built() { { find ingress/{web/console,api/preview,web/snippet}/dist -type f -print0 | sort -z; printf '%s\0' docs/integrating.md ingress/mcp/card.html; } | xargs -0 sha256sum; }
before=$(built 2>/dev/null || true)
go run ./web/build
if [ "${1:-}" = --check ] && [ "$before" != "$(built)" ]; then
  echo "the files built from web are not current: commit the changes of make console"
  exit 1
fi
