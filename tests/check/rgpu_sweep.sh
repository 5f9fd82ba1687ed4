#!/usr/bin/env bash
# rgpu sweep goes on where it was killed: points with a line are not run again, and the file is in
# the end what an undisturbed run writes. rgpu_sweep.sh BUILD
set -u
program=$(readlink -f "$1")/bankfold
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
faults=0
complain() {
  echo "$*"
  faults=$((faults + 1))
}

sweep=(rgpu sweep path --quick --axes 'data-fifo=2..9;address-fifo=64|128|256')
"$program" "${sweep[@]}" --output whole.csv >/dev/null || complain 'the sweep fails'
[ "$(wc -l <whole.csv)" = 26 ] || complain "not 24 points: $(wc -l <whole.csv)"

# Killed as soon as some points are there.
"$program" "${sweep[@]}" --workers 1 --output cut.csv >/dev/null &
child=$!
while kill -0 $child 2>/dev/null && [ "$(wc -l 2>/dev/null <cut.csv || echo 0)" -lt 6 ]; do
  sleep 0.02
done
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
before=$(grep -c '^[0-9]' cut.csv)
[ "$before" -ge 1 ] || complain 'nothing was written before it was killed'
printf '23,9' >>cut.csv # a line that was half written
said=$("$program" "${sweep[@]}" --output cut.csv)
case $said in
*" $before were finished before"*) ;;
*) complain "not those that were there: $before; $said" ;;
esac
cmp whole.csv cut.csv || complain 'the file differs from that of a whole run'

# Another graph or GPU is another sweep.
"$program" "${sweep[@]}" --set l2_ways=8 --output cut.csv >/dev/null 2>log
[ $? = 2 ] || complain 'results of another GPU are mixed in'
grep -q 'is not the result file of this sweep' log || complain "the wrong message: $(cat log)"
[ $faults = 0 ]
