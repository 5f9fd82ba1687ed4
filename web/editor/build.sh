#!/usr/bin/env bash
# Bundles the editor component (CodeMirror 6, by package-lock.json) to codemirror.js, which is checked in: web/build.sh needs
# no network and no npm. Run it again where package.json or kit.mjs changed.
#   web/editor/build.sh
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp kit.mjs package.json package-lock.json "$work"
(cd "$work" && npm ci --no-audit --no-fund --silent && node_modules/.bin/esbuild kit.mjs --bundle --minify --target=es2022 \
  --format=iife --global-name=editorKit --legal-comments=none --log-level=warning --outfile=codemirror.js)
{
  echo '// CodeMirror 6 and Lezer, (c) Marijn Haverbeke and others, MIT licence (LICENSE); bundled by build.sh.'
  cat "$work/codemirror.js"
} >codemirror.js
cat "$work/node_modules/@codemirror/view/LICENSE" >LICENSE
