#!/usr/bin/env bash
# The static checks: make check. The first argument is the linter as module@version.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/flags.sh
staticcheck=$1

step() { printf '%-14s' "$1"; }
ok() { echo ok; }
state() { git status --porcelain; git diff HEAD 2>/dev/null | sha256sum; }

step gofmt
unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "run gofmt -w on:"; echo "$unformatted"; exit 1; }
ok

step vet
go vet "${all[@]}"
ok

step "product alone"
# As the image is built: without the laboratory and its modules.
GOWORK=off go vet ./...
ok

step staticcheck
go run "$staticcheck" "${all[@]}"
ok

step lint
deploy/lint/go.sh
deploy/lint/language.sh
ok

step "arrows, docs"
# -count=1: a cached pass would hide a new bad import, or a document with a stale name.
go test -count=1 . >/dev/null || { go test -count=1 .; exit 1; }
ok

step "no ad here"
go test -count=1 -run 'TestGate|TestPlainCrises' ./auction/suitability >/dev/null || { go test -count=1 -v -run 'TestGate|TestPlainCrises' ./auction/suitability; exit 1; }
ok

step modules
for module in . lab; do
  (cd "$module" && go mod tidy -diff) || { echo "run go mod tidy in $module"; exit 1; }
done
ok

step generated
before=$(state)
go generate "${all[@]}"
[ "$before" = "$(state)" ] || { echo "generated code is not current: commit what make generate changed"; git status --short; exit 1; }
ok

step sizes
go run ./web/build --sizes

step console
deploy/web.sh --check

step packages
deploy/packages.sh --check
ok

step "web style"
if [ -x web/node_modules/.bin/biome ]; then
  web/node_modules/.bin/biome ci --reporter=summary . >/dev/null 2>&1 || { web/node_modules/.bin/biome ci .; exit 1; }
  ok
else
  echo "not checked: node and npm are missing"
  [ "${CI:-}" != true ]
fi

step "clean tree"
if [ "${CI:-}" = true ] && [ -n "$(git status --porcelain)" ]; then
  git status --short
  exit 1
fi
ok

step alerts
deploy/alerts.sh

step workflows
go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.8
ok

step openapi
deploy/openapi/lint.sh
