#!/usr/bin/env bash
# The explorer is built, gives the answers of the native program, takes what the fuzzers found, and in Chromium every flow of it
# works and every view looks as it did.
#   web.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
command -v node >/dev/null || { echo 'skipped: node is missing' && exit 77; }
nice web/build.sh "$build" || exit
node tests/web/same.mjs "$build/bankfold" "$build/web/bankfold.wasm" || exit
node tests/web/fuzz.mjs "$build/web/bankfold.wasm" || exit
for name in chromium chromium-browser google-chrome; do
  browser=$(command -v $name) && break
done
[ -n "$browser" ] || { echo 'Chromium is missing: the page itself is not tested' && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
transpose=kernels/transpose/transpose
{
  "$build/bankfold" explore examples/tile.trace --output "$work/trace.html" &&
    "$build/bankfold" explore $transpose.ptx --source $transpose.cu --launch examples/transpose.launch --output "$work/kernel.html" &&
    "$build/bankfold" report examples/tile.trace examples/fft512.trace --output "$work/report.html" &&
    "$build/bankfold" suggest $transpose.ptx --source $transpose.cu --block 32x8 --html "$work/suggest.html" &&
    "$build/bankfold" exec --html "$work/exec.html" tests/data/programs/transpose
} >/dev/null || exit 1
node tests/web/flows.mjs "$browser" "$build/web/explorer.html" "$work" || exit
node tests/web/looks.mjs "$browser" "$build/web/explorer.html"
