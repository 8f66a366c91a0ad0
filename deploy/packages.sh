#!/usr/bin/env bash
# Builds the SDKs that an installation serves below /sdk/, npm and Python, into
# ingress/web/snippet/packages: make packages. With --check it fails unless the committed archives
# have the same files. With --build it only builds, into .adnet/sdks/out. Third-party packages are
# pinned (npm packages by hash) and installed into .adnet/sdks. Node, npm and Python are installed
# as root (Debian). Elsewhere it reports missing programs, and with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/workplace.sh
into=ingress/web/snippet/packages
missing() {
  local name
  for name in node npm python3; do command -v "$name" >/dev/null || echo "$name"; done
  python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}
if [ -n "$(missing)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm python3 python3-venv >/dev/null
fi
if [ -n "$(missing)" ]; then
  echo "not built: missing $(missing | tr '\n' ' ')(Debian: apt-get install nodejs npm python3-venv)"
  [ "${CI:-}" != true ]
  exit
fi
mkdir -p "$work"
for folder in schemas/openapi web/sdk web/shared ingress/mcp sdk/python; do workplace "$folder"; done
packages "$work/web/sdk"
if ! cmp -s sdk/python/requirements.txt "$work/venv/.installed"; then
  rm -rf "$work/venv"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check -r sdk/python/requirements.txt
  cp sdk/python/requirements.txt "$work/venv/.installed"
fi
rm -rf "$work/out"
mkdir -p "$work/out"
(cd "$work/web/sdk" && npm run --silent build >/dev/null && npm pack --silent --pack-destination "$work/out" >/dev/null)
mv "$work/out"/adnet-sdk-*.tgz "$work/out/adnet-$(cat VERSION).tgz"
(cd "$work/sdk/python" && ./generate.sh "$work/venv/bin" && SOURCE_DATE_EPOCH=1577836800 "$work/venv/bin/python" -m build --no-isolation --outdir "$work/out" . >/dev/null 2>&1)
if [ "${1:-}" = --build ]; then exit; fi
if [ "${1:-}" = --check ]; then
  "$work/venv/bin/python" deploy/archives.py "$work/out" "$into" || {
    echo "the archives of $into are not current: make packages"
    exit 1
  }
  exit
fi
rm -rf "$into"
mkdir -p "$into"
cp "$work"/out/*.tgz "$work"/out/*.whl "$into"
