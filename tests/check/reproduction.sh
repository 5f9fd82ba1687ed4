#!/usr/bin/env bash
# docs/reproduction.md shows the results of every reproduction that the program of build folder $1
# lists, and of no other. Every statement there has one of four verdicts, and every verdict other
# than "holds" a reason; verdicts are those that are recorded in reproduce/verdicts.csv, and the
# summary is what the program says. Every statement of the documents that reproduce/statements.csv
# lists has a row or a reason why it has none. No full run takes over five minutes on two cores.
# Reproductions that take no time are computed and compared.
set -u
cd "$(dirname "$0")/../.." || exit 2
program=$1/bankfold
page=docs/reproduction.md
verdicts=reproduce/verdicts.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0
complain() {
  echo "$1"
  faults=1
}

# ---- Parts ----

"$program" reproduce | awk 'NR > 1 { print $1 }' >"$work/names"
sed -n 's/^<!-- reproduce \(.*\) -->$/\1/p' $page >"$work/parts"
for name in $(sort "$work/names" "$work/parts" | uniq -u); do
  complain "$page: '$name' is a part of the page or a reproduction, but not both"
done

# ---- Verdicts and reasons ----

# Prints a line for each statement of page $1 without a verdict, and for each verdict without a
# reason; then "NAME VERDICT" for every statement, to $2.
check_statements() {
  awk -F'|' -v list="$2" '
    function trim(text) { gsub(/^[ *]+|[ *]+$/, "", text); return text }
    /^<!-- reproduce / { part = $0; gsub(/<!-- reproduce | -->/, "", part); split("", needs) }
    /^\| claim / { rows = 1; statements[part] = 0; next }
    rows && /^\|---/ { next }
    rows && !/^\|/ { rows = 0 }
    rows {
      gsub(/\\\|/, "/")
      name = trim($2); verdict = trim($(NF - 1))
      statements[part]++
      if (verdict !~ /^(holds|differs|fitted|derived)$/)
        print part ": \"" name "\" has no verdict"
      else if (verdict != "holds")
        needs[name] = verdict
      print part, verdict > list
    }
    /^- (Why not|Fitted|Derived) "/ && match($0, /": ./) {
      names = substr($0, 1, RSTART)
      while (match(names, /"[^"]*"/)) {
        gsub(/\\\|/, "/", names)
        delete needs[substr(names, RSTART + 1, RLENGTH - 2)]
        names = substr(names, RSTART + RLENGTH)
      }
    }
    /^<!-- end -->/ && part != "" {
      for (name in needs)
        print part ": \"" name "\" " needs[name] " without a reason"
      if (!(part in statements))
        print part ": no statements; tools/reproduction.sh writes them"
      part = ""
    }' "$1"
}

check_statements $page "$work/shown" >"$work/found"
while read -r line; do
  complain "$page: $line"
done <"$work/found"

# The two faults must be found: a verdict, and a reason, are taken out of a copy of the page.
plant() {
  sed "$2" $page >"$work/planted"
  if cmp -s $page "$work/planted"; then
    complain "$page: nothing to plant '$1' in"
  elif ! check_statements "$work/planted" "$work/unused" | grep -q "$1"; then
    complain "$0: '$1' is not found where it is planted"
  fi
}
plant 'has no verdict' '0,/ | holds |$/s// | |/'
plant 'without a reason' '0,/^- Why not .*/s///'
plant 'without a reason' '0,/^- Derived .*/s///'

# ---- What is recorded ----

awk -F, 'NR > 1 { print $3, $2 }' $verdicts | sort >"$work/recorded"
sort "$work/shown" | diff "$work/recorded" - >"$work/apart" ||
  complain "$page and $verdicts differ; tools/reproduction.sh writes both: $(head -n 3 "$work/apart")"
"$program" reproduce --summary >"$work/summary"
awk '$0 == "<!-- end -->" { on = 0 } on && !/^```$/ { print } $0 == "<!-- summary -->" { on = 1 }' $page |
  diff - "$work/summary" || complain "$page: the summary is not what the program says"

# ---- Time ----

# Every full run ends within five minutes on two cores.
seconds=reproduce/seconds.csv
while read -r name; do
  awk -F, -v name="$name" '$1 == name && $2 <= 600 { found = 1 } END { exit !found }' $seconds ||
    complain "$seconds: '$name' has no time, or takes over five minutes on two cores"
done <"$work/names"

# ---- Statements of the documents ----

statements=reproduce/statements.csv
tools/statements.py --check $statements $verdicts >"$work/found"
while read -r line; do
  complain "$statements: $line"
done <"$work/found"
tools/statements.py >"$work/statements"
awk '$0 == "<!-- end -->" { on = 0 } on { print } $0 == "<!-- statements -->" { on = 1 }' $page |
  diff - "$work/statements" || complain "$page: its counts are not those of $statements"
# The faults must be found where they are planted: a statement without row and reason, a row that is
# not there, and one that no statement names.
plant_list() {
  sed "$2" $statements >"$work/planted"
  tools/statements.py --check "$work/planted" $verdicts >"$work/planted.found"
  grep -q "$1" "$work/planted.found" || complain "$0: '$1' is not found where it is planted"
}
plant_list 'needs a row' '/^braak15,7.6,/s/,[^,]*$/,/'
plant_list 'there is no row' '2s|hashes/|nowhere/|'
plant_list 'no statement names' '/"2, Fig. 1"/d'

# ---- What can be computed at once ----

"$program" reproduce genindex atomic-latency hash-search --output "$work/results" >/dev/null ||
  complain "genindex, atomic-latency or hash-search fails"
for name in genindex atomic-latency hash-search; do
  awk -F, -v name=$name '$3 == name' $verdicts |
    diff - <(tail -n +2 "$work/results/$name/claims.csv") || complain "$verdicts: $name has changed"
done
exit $faults
