#!/usr/bin/env bash
# Checks and tests the alerts with promtool: that of PATH, else that of Debian's package, which is
# unpacked into .adnet, since its installation would start a server. Elsewhere it reports the missing
# program, and with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/.adnet/prometheus
promtool=$(command -v promtool || true)
if [ -z "$promtool" ]; then
  promtool=$tools/usr/bin/promtool
  if [ ! -x "$promtool" ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
    mkdir -p "$tools"
    [ "$(id -u)" != 0 ] || apt-get update >/dev/null
    (cd "$tools" && apt-get download prometheus >/dev/null 2>&1 && dpkg -x prometheus_*.deb . && rm prometheus_*.deb) || true
  fi
fi
if [ ! -x "$promtool" ]; then
  echo "not tested: promtool is missing (it is part of Prometheus)"
  [ "${CI:-}" != true ]
  exit
fi
cd deploy/monitoring
for run in "check rules adnet.rules.yml" "test rules adnet.rules.test.yml"; do
  # shellcheck disable=SC2086 # the words are arguments
  said=$("$promtool" $run 2>&1) || { echo "$said"; exit 1; }
done
echo ok
