#!/usr/bin/env bash
# Installs the browser for the console tests and `make screenshots`: Debian's package chromium, as
# root. Elsewhere it reports that chromium is missing. With CI=true that is a failure.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null && exit 0
fi
echo "chromium is missing: the tests of the console are skipped (Debian: apt-get install chromium)"
[ "${CI:-}" != true ]
