#!/bin/sh
# The whole path on a small real corpus: model, index, compile, ask. Run by `make demo`; safe to run again (nothing paid for twice).
set -eu
cd "$(dirname "$0")/../.."

index=.disco/demo
program=programs/demo
start=$(date +%s)
say() { printf '\n\033[1m%s\033[0m  (%ss)\n' "$1" "$(($(date +%s) - start))"; }

say "1/5  Pull the local language model and the embedder (once; about 1.1 GB)"
disco models pull embedded minilm

say "2/5  Index eight short medical reviews"
disco index data/demo/corpus --index "$index"

say "3/5  Compile a program: examples for the Parser from gold trees, with a budget of 12 calls"
python -m optimize.compile --benchmark gum --roles parser --optimizer bootstrap --backbone embedded \
    --max-calls 12 --out "$program"

say "4/5  A question whose evidence holds only under a condition"
disco ask "Does nebulised rhDNase help children in hospital with bronchiolitis?" \
    --index "$index" --program "$program" --k 4 --explain

say "5/5  A question on which two reviews disagree"
disco ask "Should surgeons leave a drain in place after an operation?" \
    --index "$index" --program "$program" --k 4 --explain

say "Done"
echo "Program:  $program (manifest.json, program.json, report.md; check it with: disco program verify $program)"
echo "Index:    $index"
echo "Again:    disco ask \"your question\" --index $index --program $program --explain"
