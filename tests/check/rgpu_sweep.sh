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

# Anything else that results depend on makes another sweep; the file stays as it is.
refuses() {
  "$program" "$@" --output cut.csv >/dev/null 2>log
  [ $? = 2 ] || complain "results are mixed in: $*"
  grep -q 'is not the result file of this sweep' log || complain "the wrong message: $(cat log)"
}
axes=("${sweep[@]:3}")
for other in '--set l2_ways=8' '--core-cycles 9' '--three-operand-cycles 11' '--load-cycles 9' '--fold 2' \
  --pipelines-take-entries '--wait-for sectors' --no-prefetch '--order decreasing' '--lanes 5' '--lanes 6' \
  '--copies 2' '--cores 31' '--units 15' '--unit-slots even' '--states 5'; do
  read -ra words <<<"$other"
  refuses "${sweep[@]}" "${words[@]}"
done
refuses rgpu sweep stencil "${axes[@]}"
refuses rgpu sweep path --axes 'data-fifo=2..9;address-fifo=64|128|256'
cmp whole.csv cut.csv || complain 'the file was changed by another sweep'

# What says the same in other words is the same sweep.
said=$("$program" "${sweep[@]}" --load-cycles 8 --core-cycles 8 --wait-for lines --output cut.csv)
case $said in
*' 24 were finished before'*) ;;
*) complain "the usual settings are refused: $said" ;;
esac

# Limits on the graph of a file count as well, and latencies can be axes.
printf 'graph g\niterations 40\na = inc step 1 initial 8\nb = add.u32 a, 1\nc = mad.u32 b, b, b\nd = mov.u32 c\n' >g.df
rm cut.csv
sweep=(rgpu sweep g.df --axes 'core-cycles=1|8|30;three-operand-cycles=2|10')
"$program" "${sweep[@]}" --output cut.csv >/dev/null || complain 'a sweep of latencies fails'
refuses "${sweep[@]}" --max-cycles 10000
refuses "${sweep[@]}" --load-cycles 9
cycles() { awk -F, -v a="$1" -v b="$2" '$2 == a && $3 == b { print $4 }' cut.csv; }
[ $(($(cycles 8 10) - $(cycles 8 2))) = 8 ] || complain 'eight cycles more are not eight'
[ $(($(cycles 8 10) - $(cycles 1 10))) = 14 ] || complain 'two cores with seven cycles less are not 14'
[ $faults = 0 ]
