#!/usr/bin/env bash
# Writes the results of `bankfold reproduce` into docs/reproduction.md:
#   tools/reproduction.sh BUILD-FOLDER [NAME...]    without names all
# In the page, what stands between "<!-- reproduce NAME -->" and "<!-- end -->" is replaced by the
# report of that reproduction; its charts go to docs/img/reproduction. The text around it is written
# by hand. $RESULTS names a folder with finished results to take instead of computing them.
set -eu
build=$(readlink -f "$1")
shift
cd "$(dirname "$0")/.."
page=docs/reproduction.md
pictures=docs/img/reproduction
[ $# -gt 0 ] || set -- all
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=${RESULTS:-$work/results}
# Status 1 says that a claim does not hold: the page shows it.
[ -n "${RESULTS-}" ] || "$build/bankfold" reproduce "$@" --output "$results" || [ $? = 1 ]

mkdir -p "$pictures"
for report in "$results"/*/index.md; do
  folder=$(dirname "$report")
  name=$(basename "$folder")
  grep -qx "<!-- reproduce $name -->" "$page" || {
    echo "$page: no place for '$name'" >&2
    exit 1
  }
  rm -f "$pictures/$name"-*.svg
  for chart in "$folder"/*.svg; do
    [ -e "$chart" ] && cp "$chart" "$pictures/$name-$(basename "$chart")"
  done
  # The heading is the page's; charts are found in their folder, tables are files of the run.
  sed -e 1,2d -e "s|](\([^)]*\.svg\))|](img/reproduction/$name-\1)|" \
    -e 's|(\[\([^]]*\.csv\)\]([^)]*))|(\1)|' "$report" >"$work/body"
  awk -v mark="<!-- reproduce $name -->" -v body="$work/body" '
    $0 == "<!-- end -->" { skips = 0 }
    !skips { print }
    $0 == mark { while ((getline line < body) > 0) print line; skips = 1 }' "$page" >"$work/page"
  cat "$work/page" >"$page"
done
