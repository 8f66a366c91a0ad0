#!/usr/bin/env bash
# Makes the low level of the package, src/adnet/api, of openapi.json with openapi-python-client, and
# brings the card for MCP hosts. The first argument is the folder with the tool's command.
set -euo pipefail
cd "$(dirname "$0")"
PATH=$1:$PATH
document=${ADNET_OPENAPI:-../../schemas/openapi/openapi.json}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf src/adnet/api
openapi-python-client generate --path "$document" --output-path src/adnet/api --meta none >"$log" 2>&1 || { cat "$log"; exit 1; }
# A pixel, an icon, a film and an event as plain text have no form that the client knows; whatever else is left out is a failure.
if grep -E '^(WARNING|ERROR|Unable)' "$log" | grep -vE '(GET|POST) /api/track |GET /favicon.ico |GET /demo/media/\{file\} '; then exit 1; fi
sed s/ADNET_MEDIA// ../../ingress/mcp/card.html >src/adnet/ad.html # the server's own; without pictures
