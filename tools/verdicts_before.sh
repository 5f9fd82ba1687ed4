#!/usr/bin/env bash
# Makes reproduce/verdicts_before.csv again: the statements that the project had before it was judged strictly, by the
# rule of now:
#   tools/verdicts_before.sh [FOLDER]     FOLDER keeps the old tree and its results (default: a temporary one)
# The commit is the last one before statements that had no row were added, and before anything was improved for the
# strict rule; its history has every computation as it was. Its reproduce/frame/verdict.c, where the rule is, is replaced
# by that of this tree. Full runs take about half an hour of processor time; results that are in FOLDER are taken.
set -eu
cd "$(dirname "$0")/.."
commit=ec5d42cc7144f1ca7a28e7e7fe8ce4354dd50a22
table=reproduce/verdicts_before.csv
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  work=$(readlink -f "$1")
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
git cat-file -e "$commit^{commit}" 2>/dev/null || {
  echo "$0: the history has no commit $commit; a whole clone is needed" >&2
  exit 2
}
if [ ! -e "$work/tree/meson.build" ]; then
  mkdir -p "$work/tree"
  git archive "$commit" | tar -x -C "$work/tree"
fi
cp reproduce/frame/verdict.c "$work/tree/reproduce/frame/verdict.c"
[ -e "$work/build/build.ninja" ] || meson setup "$work/build" "$work/tree" >"$work/setup.log"
ninja -C "$work/build" bankfold >"$work/build.log"
program=$work/build/bankfold

head -n 1 "$table" >"$work/verdicts"
for name in $("$program" reproduce | awk 'NR > 1 { print $1 }'); do
  # Status 1 says that a claim does not hold: the table shows it.
  [ -e "$work/results/$name/claims.csv" ] ||
    "$program" reproduce "$name" --output "$work/results" >/dev/null || [ $? = 1 ]
  tail -n +2 "$work/results/$name/claims.csv" >>"$work/verdicts"
done
cat "$work/verdicts" >"$table"
