#!/usr/bin/env bash
# Sweeps of the program in build folder $1: killed at random moments and resumed, run by several
# processes at once, with any number of workers, the result file is that of a sweep that nothing
# disturbs. Files of other sweeps, also of the same one on a changed GPU, are refused.
set -u
program=$(readlink -f "$1")/bankfold
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
cp "$root/examples/small.gpu" .
RANDOM=4
faults=0

complain() {
  echo "$*"
  faults=$((faults + 1))
}

points=24
sweep=(sim --gpu small.gpu --sweep
  'benchmark=transpose32|reduction;hash=none|xor:0,5,31;scheduler=lrr|gto;sms=1..4*2')

# finish FILE OPTION...: runs the sweep to its end.
finish() {
  "$program" "${sweep[@]}" --output "$@" >log 2>&1 || complain "status $?: $(cat log)"
}

# interrupt FILE OPTION...: runs the sweep and kills it within 0.2 seconds.
interrupt() {
  "$program" "${sweep[@]}" --output "$@" >/dev/null 2>&1 &
  local process=$!
  sleep "0.$(printf '%03d' $((RANDOM % 200)))"
  kill -9 $process 2>/dev/null
  wait $process 2>/dev/null
}

# compare WHAT FILE REFERENCE: both must be the same.
compare() {
  cmp "$2" "$3" || complain "$1: not the results of a sweep that nothing disturbs"
  rm -f "$2"
}

finish all.csv --workers 1
finish all.json --workers 1 --json
[ "$(wc -l <all.csv)" = $((points + 2)) ] || complain 'all.csv: lines are missing'

# Sorting goes through no name that others know and can link elsewhere.
echo precious >victim
ln -s victim r.csv.sorted
for workers in 2 40; do
  finish r.csv --workers $workers
  compare "$workers workers" r.csv all.csv
done
[ "$(cat victim)" = precious ] || complain 'sorting has followed a link'
[ "$(find . -name '.bankfold-*' | wc -l)" = 0 ] || complain 'a temporary file is left'

for round in 1 2 3; do
  for ((i = 0; i < round; i++)); do
    interrupt r.csv
    interrupt r.json --json --workers 1
  done
  finish r.csv
  finish r.json --json
  compare "killed, $round" r.csv all.csv
  compare "killed, $round" r.json all.json
done

# Three processes at once, one of them killed.
"$program" "${sweep[@]}" --output r.csv --workers 1 >/dev/null 2>&1 &
first=$!
"$program" "${sweep[@]}" --output r.csv --workers 1 >/dev/null 2>&1 &
interrupt r.csv
wait $first || complain 'one of three processes fails'
wait
compare 'three processes' r.csv all.csv

# What programs that read CSV and JSON see; axes may have the names of any parameters.
finish r.csv
names=$("$program" sim --benchmark fft512 --gpu small.gpu --sweep 'l1_misses=8|16;l2_bytes=0|65536;sms=1|2' \
  --output n.csv >/dev/null && sed -n 2p n.csv | tr , '\n' | sort | uniq -d)
[ -z "$names" ] || complain "columns that are there twice: $names"
python3 - <<'END' || complain 'CSV and JSON differ'
import csv, itertools, json
lines = open('all.csv').read().split('\n', 1)[1].splitlines()
rows = list(csv.DictReader(lines))
objects = [json.loads(line) for line in open('all.json')]
assert objects[0]['points'] == 24 and len(objects) == 25, objects[0]
order = itertools.product(['transpose32', 'reduction'], ['none', 'xor:0,5,31'],
                          ['lrr', 'gto'], ['1', '2', '4'])
for number, (row, found, values) in enumerate(zip(rows, objects[1:], order)):
    assert found['point'] == number and int(row['point']) == number
    assert (row['benchmark'], row['hash'], row['scheduler'], row['sms']) == values
    assert list(row) == list(found), (list(row), list(found))
    assert row == {key: '' if value is None else str(value) if isinstance(value, str) else row[key]
                   for key, value in found.items()}
    assert all(float(row[key]) == value for key, value in found.items()
               if isinstance(value, (int, float)))
    assert found['cycles'] > 0 and found['error'] is None
END

# Another GPU of the same name is another sweep.
cp r.csv before.csv
echo 'shared_cycles 25 assumed guess' >>small.gpu
"$program" "${sweep[@]}" --output r.csv >log 2>&1
[ $? = 2 ] || complain "not refused: $(cat log)"
grep -q 'is not the result file of this sweep' log || complain "the wrong message: $(cat log)"
cmp r.csv before.csv || complain 'a file that was refused has changed'

[ $faults = 0 ]
