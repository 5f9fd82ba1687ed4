#!/usr/bin/env bash
# Writes the results of `bankfold reproduce` into docs/reproduction.md:
#   tools/reproduction.sh BUILD-FOLDER [NAME...]    without names all; sim: all that the simulator computes
# In the page, what stands between "<!-- reproduce NAME -->" and "<!-- end -->" is replaced by the
# report of that reproduction; its charts go to docs/img/reproduction. Its claims with their verdicts
# go to reproduce/verdicts.csv, which `bankfold reproduce --summary` counts; the program is built
# anew, and what it says goes between "<!-- summary -->" and "<!-- end -->"; how many statements of
# reproduce/statements.csv have rows goes between "<!-- statements -->" and "<!-- end -->". The text
# around is written by hand. $RESULTS names a folder that keeps results (default: a temporary one):
# what it has is not computed again, so that a run which was stopped goes on where it was. Beside
# each result stands which code made it; that another one did is said. Processor time of the runs goes
# to reproduce/seconds.csv and between "<!-- seconds -->" and "<!-- end -->".
set -eu
build=$(readlink -f "$1")
shift
cd "$(dirname "$0")/.."
page=docs/reproduction.md
pictures=docs/img/reproduction
verdicts=reproduce/verdicts.csv
seconds=reproduce/seconds.csv
names=$("$build/bankfold" reproduce | awk 'NR > 1 { print $1 }')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=${RESULTS:-$work/results}

# The code that results depend on, as a number: what tests and documents say is no part of it.
code() {
  find src kernels machines reproduce examples/rgpu tests/data/h200 -type f ! -name 'verdicts*.csv' \
    ! -name statements.csv | LC_ALL=C sort | xargs cat | cksum | cut -d ' ' -f 1
}
now=$(code)
TIMEFORMAT=%U # seconds of all processors
# Those that do not run the simulator: changes of src/sim, src/emu and machines/*.gpu leave them as they are.
without_sim=' align hardware hash-parameters hash-search '
if [ "${1-}" = sim ]; then
  shift
  for name in $names; do
    case $without_sim in *" $name "*) ;; *) set -- "$@" "$name" ;; esac
  done
fi
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $names
for name in "$@"; do
  if [ ! -e "$results/$name/claims.csv" ]; then
    # Status 1 says that a claim does not hold: the page shows it.
    { time "$build/bankfold" reproduce "$name" --output "$results" >"$work/log" || [ $? = 1 ]; } 2>"$work/seconds"
    cp "$work/seconds" "$results/$name/seconds"
    echo "$now" >"$results/$name/code"
  elif [ "$(cat "$results/$name/code" 2>/dev/null)" != "$now" ]; then
    echo "$0: $name in $results was made by other code" >&2
  fi
done

# Replaces what stands between mark $1 and "<!-- end -->" by the file $2.
replace() {
  grep -qx -e "$1" "$page" || {
    echo "$page: no place for '$1'" >&2
    exit 1
  }
  awk -v mark="$1" -v body="$2" '
    $0 == "<!-- end -->" { skips = 0 }
    !skips { print }
    $0 == mark { while ((getline line < body) > 0) print line; skips = 1 }' "$page" >"$work/page"
  cat "$work/page" >"$page"
}

mkdir -p "$pictures"
for name in "$@"; do
  folder=$results/$name
  report=$folder/index.md
  rm -f "$pictures/$name"-*.svg
  for chart in "$folder"/*.svg; do
    [ -e "$chart" ] && cp "$chart" "$pictures/$name-$(basename "$chart")"
  done
  # The heading is the page's; charts are found in their folder, tables are files of the run.
  sed -e 1,2d -e "s|](\([^)]*\.svg\))|](img/reproduction/$name-\1)|" \
    -e 's|(\[\([^]]*\.csv\)\]([^)]*))|(\1)|' "$report" >"$work/body"
  replace "<!-- reproduce $name -->" "$work/body"
done

# Claims in the order in which the program lists reproductions: new ones, and those of before.
head -n 1 "$verdicts" >"$work/verdicts"
for name in $names; do
  if [ -e "$results/$name/claims.csv" ]; then
    tail -n +2 "$results/$name/claims.csv"
  else
    awk -F, -v name="$name" '$3 == name' "$verdicts"
  fi
done >>"$work/verdicts"
cat "$work/verdicts" >"$verdicts"
ninja -C "$build" bankfold >/dev/null
{
  echo '```'
  "$build/bankfold" reproduce --summary
  echo '```'
} >"$work/body"
replace "<!-- summary -->" "$work/body"

# Processor seconds: of the runs of now, and those of before.
echo reproduction,seconds >"$work/seconds.csv"
for name in $names; do
  if [ -e "$results/$name/seconds" ]; then
    awk -v name="$name" '{ printf "%s,%.0f\n", name, $1 }' "$results/$name/seconds"
  else
    grep "^$name," "$seconds" || true
  fi
done >>"$work/seconds.csv"
cat "$work/seconds.csv" >"$seconds"
awk -F, '
  NR == 1 { print "| reproduction | processor seconds |\n|---|---|"; next }
  { print "| " $1 " | " $2 " |" }' "$seconds" >"$work/body"
replace "<!-- seconds -->" "$work/body"
tools/statements.py >"$work/body"
replace "<!-- statements -->" "$work/body"
