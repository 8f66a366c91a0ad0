#!/usr/bin/env bash
# Builds adnet: make build. The first build of a machine fetches modules and compiles some hundred
# packages, which takes minutes on two cores, so it shows progress. The argument is the output file.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/flags.sh
out=$1
go=${GO:-go}
# With go.mod alone: the binary has the versions that the product requires.
export CGO_ENABLED=0 GOWORK=off
flags=(-trimpath)

command -v "$go" >/dev/null || { echo "there is no '$go' command: install Go $(sed -n 's/^go //p' go.mod) or newer (https://go.dev/dl)" >&2; exit 1; }
mkdir -p "$(dirname "$out")"

# Lists the linked packages, which fetches the modules. go prints "go: downloading MODULE VERSION"
# for each.
echo "adnet: looking for modules" >&2
total=$("$go" list "${flags[@]}" -deps . | wc -l)

# Shows one updating line on a terminal, and a line every ten seconds elsewhere.
progress() {
  local done=0 shown=$SECONDS
  while IFS= read -r line; do
    case $line in
      *[[:space:]:]*) printf '%s\n' "$line" >&2; continue ;; # errors and warnings unchanged
    esac
    done=$((done + 1))
    if [ -t 2 ]; then
      printf '\r\033[Kadnet: compiling, package %d of at most %d: %s' "$done" "$total" "${line:0:60}" >&2
    elif [ $((SECONDS - shown)) -ge 10 ]; then
      shown=$SECONDS
      printf 'adnet: compiling, package %d of at most %d\n' "$done" "$total" >&2
    fi
  done
  if [ "$done" -gt 0 ] && [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

revision=${REVISION:-$(git rev-parse --short=12 HEAD 2>/dev/null || true)}
# pipefail: the status is that of go build.
"$go" build -v "${flags[@]}" -ldflags "-s -w -X adnet/cmd.version=$(<VERSION) -X adnet/cmd.revision=$revision" -o "$out" . 2>&1 | progress
echo "adnet: built $out in $SECONDS s" >&2
