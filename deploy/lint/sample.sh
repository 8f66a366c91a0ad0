#!/usr/bin/env bash
# Draws 60 items for a reader of the language: 34 comments of Go, 13 error texts, 13 paragraphs of the
# documents. The same seed draws the same items of the same tree: deploy/lint/sample.sh SEED.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${1:?usage: deploy/lint/sample.sh SEED}
draw() { shuf -n "$1" --random-source=<(openssl enc -aes-256-ctr -pass "pass:$seed" -nosalt </dev/zero 2>/dev/null); }
mapfile -t files < <(git ls-files '*.go' | grep -vE '(_test|\.pb)\.go$')

echo "== comments"
# A comment block is one item.
awk 'FNR == 1 { if (text) print text; text = "" }
  /^[[:space:]]*\/\/ / { line = $0; sub(/^[[:space:]]*\/\/ /, "", line); text = text ? text " " line : FILENAME ":" FNR ": " line; next }
  { if (text) print text; text = "" }
  END { if (text) print text }' "${files[@]}" | draw 34
echo "== error texts"
grep -nE '(errs\.New|errs\.Wrap|errors\.New|fmt\.Errorf)\(' "${files[@]}" | grep '"' | sed -E 's/:[[:space:]]+/: /' | draw 13
echo "== paragraphs"
for file in $(git ls-files '*.md' | grep -v '^docs/settings.md$'); do
  awk -v file="$file" 'BEGIN { RS = ""; code = 0 }
    { gsub(/\n/, " "); if ($0 !~ /^(```|#|\||<|    )/ && NF > 8) print file ": " $0 }' "$file"
done | draw 13
