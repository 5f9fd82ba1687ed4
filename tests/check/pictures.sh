#!/usr/bin/env bash
# The pictures in the documentation are what the documented commands of build folder $1 draw, and
# SVG and HTML are well-formed for a parser, where one is here.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
"$1/bankfold" draw examples/tile.trace:39 --hash xor:0,5,31 --svg "$work/column.svg" || faults=1
cmp docs/img/tile-column.svg "$work/column.svg" || faults=1
# Pictures of docs/hopper.md, by the commands that stand there.
while read -r command; do
  picture=${command##*--svg docs/img/}
  sh -c "\"\$0\" ${command% --svg *} --svg \"\$1\"" "$1/bankfold" "$work/$picture" || faults=1
  cmp "docs/img/$picture" "$work/$picture" || faults=1
done < <(sed -n 's/^ \{4,\}bankfold \(draw .*--svg .*\)/\1/p' docs/hopper.md)
"$1/bankfold" draw --access 'ld 16 ffffffff stride:8 @<&">' --hash fixed --svg "$work/wide.svg" ||
  faults=1
"$1/bankfold" hist examples/images/colour.ppm --svg "$work/hist.svg" >/dev/null || faults=1
cmp docs/img/hist.svg "$work/hist.svg" || faults=1
# How well bitmaps are compressed is left to zlib.
"$1/bankfold" hough examples/images/lines.png --svg "$work/hough.svg" --space "$work/space.png" \
  >/dev/null || faults=1
without_bitmaps() { sed 's/base64,[^"]*//' "$1"; }
cmp <(without_bitmaps docs/img/hough.svg) <(without_bitmaps "$work/hough.svg") || faults=1
# The bitmaps inside are the image and the Hough space.
bitmap() { sed -n 's/.*base64,\([^"]*\).*/\1/p' "$work/hough.svg" | sed -n "$1p" | base64 -d; }
cmp <("$1/bankfold" hist examples/images/lines.png --csv -) <(bitmap 1 | "$1/bankfold" hist - --csv -) ||
  faults=1
cmp "$work/space.png" <(bitmap 2) || faults=1
"$1/bankfold" rgpu map examples/rgpu/conv.df --svg "$work/rgpu-conv.svg" >/dev/null || faults=1
cmp docs/img/rgpu-conv.svg "$work/rgpu-conv.svg" || faults=1
"$1/bankfold" rgpu show examples/rgpu/integral.df --svg "$work/rgpu-integral.svg" || faults=1
cmp docs/img/rgpu-integral.svg "$work/rgpu-integral.svg" || faults=1
"$1/bankfold" report examples/tile.trace --still --output "$work/page.html" >/dev/null || faults=1
"$1/bankfold" suggest tests/data/suggest/tiles.ptx --source tests/data/suggest/tiles.cu \
  --launch tests/data/suggest/tiles.launch --kernel transpose --svg "$work/arrays" >/dev/null || faults=1
cmp docs/img/suggest-tile.svg "$work/arrays/1_transpose_tile.svg" || faults=1
# Names in sources are text, also where they look like markup.
sed 's/tiles\.cu/<b>\&.cu/' tests/data/suggest/tiles.ptx >"$work/<b>&.ptx"
"$1/bankfold" suggest "$work/<b>&.ptx" --launch tests/data/suggest/tiles.launch --svg "$work" \
  --still --html "$work/arrays.html" >/dev/null || faults=1
grep -q '<b>' "$work/arrays.html" && faults=1
if command -v xmllint >/dev/null; then
  xmllint --noout "$work"/*.svg || faults=1
  # The parser knows no HTML 5 elements; everything else it finds is a fault.
  xmllint --html --noout "$work/page.html" "$work/arrays.html" 2>&1 |
    grep 'error' | grep -vE 'Tag (section|figure|footer|svg|g|rect|path|text|tspan|title|desc) ' &&
    faults=1
fi
exit $faults
