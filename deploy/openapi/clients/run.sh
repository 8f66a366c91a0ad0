#!/usr/bin/env bash
# Generates clients from schemas/openapi/openapi.json with openapi-python-client and
# openapi-typescript, type-checks them, and makes real calls with each to `adnet standalone` on a
# loopback port: make clients. The packages are pinned and installed into .adnet. Without python3,
# node and npm nothing is checked; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. deploy/flags.sh
if ! command -v python3 >/dev/null || ! command -v npm >/dev/null; then
  echo "not checked: python3, node and npm are needed (Debian: apt-get install python3-venv nodejs npm)"
  [ "${CI:-}" != true ]
  exit
fi
here=$PWD/deploy/openapi/clients document=$PWD/schemas/openapi/openapi.json work=$PWD/.adnet/clients
mkdir -p "$work/py" "$work/ts"

echo "python ..."
[ -x "$work/py/venv/bin/mypy" ] || { python3 -m venv "$work/py/venv"; "$work/py/venv/bin/pip" -q install openapi-python-client==0.29.1 mypy==2.4.1; }
rm -rf "$work/py/adnet_client"
PATH=$work/py/venv/bin:$PATH openapi-python-client generate --path "$document" --output-path "$work/py/adnet_client" --meta none >"$work/py/log" 2>&1
# The client has no form for a pixel, an icon, a film or an event as plain text. Any other omission
# is a failure.
if grep -E '^(WARNING|ERROR|Unable)' "$work/py/log" | grep -vE '(GET|POST) /api/track |GET /favicon.ico |GET /demo/media/\{file\} '; then exit 1; fi
cp "$here/client.py" "$work/py/"
(cd "$work/py" && venv/bin/mypy --follow-imports=silent client.py)

echo "typescript ..."
cat >"$work/ts/package.json" <<'JSON'
{"private": true, "type": "module", "dependencies": {
  "@types/node": "20.19.9", "openapi-fetch": "0.17.0", "openapi-typescript": "7.13.0", "typescript": "5.9.3"}}
JSON
cat >"$work/ts/tsconfig.json" <<'JSON'
{"compilerOptions": {"strict": true, "skipLibCheck": true, "target": "es2022", "module": "nodenext", "types": ["node"],
  "lib": ["es2022", "dom"]}, "files": ["client.ts"]}
JSON
(cd "$work/ts" && npm i --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
cp "$here/client.ts" "$work/ts/"
(cd "$work/ts" && npx openapi-typescript "$document" -o api.d.ts >/dev/null 2>&1 && npx tsc -p .)

echo "calls ..."
go build -o "$work/adnet" .
port=${ADNET_CLIENTS_PORT:-18391}
ADNET_HTTP_ADDR=127.0.0.1:$port ADNET_ADMIN_ADDR=127.0.0.1:$((port + 1)) "$work/adnet" standalone >"$work/log" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server" || true' EXIT
export ADNET_BASE_URL=http://127.0.0.1:$port
for _ in $(seq 100); do
  curl -fsS "$ADNET_BASE_URL/readyz?for=ads" >/dev/null 2>&1 && break
  sleep 0.3
done
(cd "$work/py" && venv/bin/python client.py)
node "$work/ts/client.js"
