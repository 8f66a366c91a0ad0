#!/usr/bin/env bash
# Lints Go beside vet and staticcheck, as part of make check: import groups (gci), dropped errors
# (errcheck; deploy/lint/errcheck.txt lists the calls whose error carries no information), doc
# comments and names (revive) and spelling (misspell). The tools are pinned here and built by go
# run.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/flags.sh
gci=github.com/daixiang0/gci@v0.14.0
errcheck=github.com/kisielk/errcheck@v1.30.0
revive=github.com/mgechev/revive@v1.12.0
misspell=github.com/golangci/misspell/cmd/misspell@v0.8.0

mapfile -t files < <(git ls-files -co --exclude-standard '*.go' | grep -v '\.pb\.go$')
ungrouped=$(go run "$gci" list -s standard -s default -s 'prefix(adnet)' --skip-generated "${files[@]}")
[ -z "$ungrouped" ] || {
  echo "group imports as std, others, own: run gci write on"
  echo "$ungrouped"
  exit 1
}
go run "$errcheck" -ignoretests -ignoregenerated -exclude deploy/lint/errcheck.txt "${all[@]}"
go run "$revive" -config deploy/lint/revive.toml -set_exit_status "${all[@]}"
# Files with words of other languages, or with misspellings as input, are skipped.
git ls-files '*.go' '*.md' '*.sh' '*.ts' '*.tsx' '*.yml' |
  grep -vE '^(auction/(suitability|words)|lab/suitability|internal/(compliance/adtext|demo|campaign)|web/console/i18n)/' |
  xargs go run "$misspell" -error
