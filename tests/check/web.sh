#!/usr/bin/env bash
# The explorer is built, gives the answers of the native program, and every flow of it works in Chromium.
#   web.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
command -v node >/dev/null || { echo 'skipped: node is missing' && exit 77; }
nice web/build.sh "$build" || exit
node tests/web/same.mjs "$build/bankfold" "$build/web/bankfold.wasm" || exit
for name in chromium chromium-browser google-chrome; do
  browser=$(command -v $name) && break
done
[ -n "$browser" ] || { echo 'Chromium is missing: the page itself is not tested' && exit 77; }
node tests/web/flows.mjs "$browser" "$build/web/explorer.html" || exit
