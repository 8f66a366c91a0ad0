#!/usr/bin/env bash
# Counts turns of phrase that read as translated, in comment lines of non-test Go, and fails if
# there are more than allowed: make check. It prints its regular expressions.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git ls-files -co --exclude-standard '*.go' | grep -vE '(_test|\.pb)\.go$')
comments=$(grep -hoE '(^|[[:space:]])//( .*)?$' "${files[@]}")
failed=0
count() { # NAME MOST EXPRESSION
  local n
  n=$(grep -ciE "$3" <<<"$comments" || true)
  printf '%-36s %4d of at most %2d   %s\n' "$1" "$n" "$2" "$3"
  [ "$n" -le "$2" ] || failed=1
  if [ "$n" -gt "$2" ] && [ -n "${SHOW:-}" ]; then
    grep -niE "(^|[[:space:]])// .*($3)" "${files[@]}" || true
  fi
}
count "says whether, that, how, what" 5 '\b(says?|said|tells?) (whether|that|how|what|which)\b'
count "is what, are how" 40 '\b(is|are) (what|how|whether)\b'
count "who, whoever" 10 '\b(who|whoever)\b'
count "said, told" 5 '\b(said|told)\b'
count "nobody, somebody, anybody, everybody" 5 '\b(nobody|somebody|anybody|everybody)\b'
exit "$failed"
