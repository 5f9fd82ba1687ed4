#!/usr/bin/env bash
# Makes reproduce/verdicts_before.csv again: the statements that the project had before it was judged strictly, by the
# judgement of now:
#   tools/verdicts_before.sh [FOLDER [NAME...]]
# FOLDER keeps the old tree and its results (default: a temporary one), and what it has is not computed again: started
# once more after a break it goes on with the reproduction at which it was, and without git where it has the tree. With
# names of reproductions only these are computed, and compared with the table, which stays as it is; status 1 where a
# statement or its verdict differs.
# Statements and numbers are those of the program at a commit: the last one before statements that had no row were added,
# and before anything was improved for the strict rule. Its reproduce/frame/verdict.c, where the rule is, is replaced by
# that of this tree; and what is known by now to be fitted or derived (reproduce/verdicts.csv) is called so there, too.
# Full runs take about half an hour of processor time.
set -eu
cd "$(dirname "$0")/.."
commit=ec5d42cc7144f1ca7a28e7e7fe8ce4354dd50a22
table=reproduce/verdicts_before.csv
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  work=$(readlink -f "$1")
  shift
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
if [ ! -e "$work/tree/meson.build" ]; then
  git cat-file -e "$commit^{commit}" 2>/dev/null || {
    echo "$0: the history has no commit $commit; a whole clone is needed" >&2
    exit 2
  }
  mkdir -p "$work/tree"
  git archive "$commit" | tar -x -C "$work/tree"
fi
cmp -s reproduce/frame/verdict.c "$work/tree/reproduce/frame/verdict.c" ||
  cp reproduce/frame/verdict.c "$work/tree/reproduce/frame/verdict.c"
[ -e "$work/build/build.ninja" ] || meson setup "$work/build" "$work/tree" >"$work/setup.log"
ninja -C "$work/build" bankfold >"$work/build.log"
program=$work/build/bankfold

names=$*
[ -n "$names" ] || names=$("$program" reproduce | awk 'NR > 1 { print $1 }')
head -n 1 "$table" >"$work/statements"
for name in $names; do
  # Status 1 says that a claim does not hold: the table shows it.
  [ -e "$work/results/$name/claims.csv" ] ||
    "$program" reproduce "$name" --output "$work/results" >/dev/null || [ $? = 1 ]
  tail -n +2 "$work/results/$name/claims.csv" >>"$work/statements"
done

# Statements that hold, but are known to be fitted or derived, get that verdict and its reason.
python3 - "$work/statements" reproduce/verdicts.csv "$work/verdicts" <<'END'
import csv, sys

with open(sys.argv[2], newline="", encoding="utf-8") as file:
    now = {(row["reproduction"], row["claim"]): row for row in csv.DictReader(file)}
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
for row in rows:
    known = now.get((row["reproduction"], row["claim"]))
    if row["verdict"] == "holds" and known and known["verdict"] in ("fitted", "derived"):
        row["verdict"], row["reason"] = known["verdict"], known["reason"]
with open(sys.argv[3], "w", newline="", encoding="utf-8") as file:
    table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
END
if [ $# = 0 ]; then
  cat "$work/verdicts" >"$table"
  exit
fi
# Document, verdict and reproduction of the statements, as many of each as the table has.
status=0
for name in "$@"; do
  for file in "$table" "$work/verdicts"; do
    awk -F, -v name="$name" '$3 == name { print $1, $2, $3 }' "$file" >"$work/$(basename "$file").of"
  done
  diff "$work/$(basename "$table").of" "$work/verdicts.of" || status=1
done
exit $status
