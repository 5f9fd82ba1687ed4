#!/usr/bin/env bash
# One exact search that several processes share: ranks of mpirun that are killed lose nothing but the tasks that they
# had begun, a search goes on where another one ended, the answer is the one of a search alone, and the checker that
# shares no code with it accepts it. A file of other accesses is refused.
set -u
cd "$(dirname "$0")/../.." || exit 2
program=$(readlink -f "${1:-build}")/bankfold
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$work/checker" tests/certificate/checker.c || exit 1
cd "$work" || exit 2
python3 - <<'PYTHON' || exit 1
import random
chance = random.Random(8)
for bits, accesses in ((9, 20), (10, 30)):
    with open(f"random{bits}.trace", "w") as file:
        for _ in range(accesses):
            file.write("ld 4 ffffffff " + " ".join(str(4 * chance.randrange(1 << bits)) for _ in range(32)) + "\n")
PYTHON
failed=0
process=()
complain() { echo "$1" && failed=1; }
value() { sed -n "s/^  \"$2\": \([^,]*\),*\$/\1/p" "$1"; }

for bits in 9 10; do
  "$program" solve random$bits.trace --method exact --time-limit 0 --json >alone.json || complain 'a search alone fails'
  # three processes at a time, one of which is killed as soon as there is a line of it
  rm -f shared.txt
  for i in 1 2 3; do
    "$program" solve random$bits.trace --share shared.txt --threads 1 --time-limit 0 --json >$i.json 2>$i.err &
    process[i]=$!
  done
  for _ in $(seq 500); do
    grep -q ^done shared.txt 2>/dev/null && break
    sleep 0.01
  done
  kill -9 "${process[1]}" 2>/dev/null
  wait "${process[2]}" || complain "$bits bits: a process that shares fails: $(cat 2.err)"
  wait "${process[3]}" || complain "$bits bits: a process that shares fails: $(cat 3.err)"
  wait "${process[1]}" 2>/dev/null
  for i in 2 3; do
    for key in conflicts_after lower_bound proven; do
      [ "$(value $i.json $key)" = "$(value alone.json $key)" ] ||
        complain "$bits bits, process $i: $key is $(value $i.json $key), not $(value alone.json $key)"
    done
  done
  # a half line, as of a process that was killed while it wrote, is no line
  printf 'done 1' >>shared.txt
  "$program" solve random$bits.trace --share shared.txt --time-limit 0 --json >again.json || complain 'it does not go on'
  [ "$(value again.json proven)" = true ] || complain "$bits bits: not proven again"
  [ $bits = 10 ] || "$work/checker" random$bits.trace 2.json 5 || complain "$bits bits: the checker refuses it"
done
"$program" solve random9.trace --share shared.txt >other.txt 2>&1
if [ $? != 2 ] || ! grep -q 'shared.txt:1:1: ' other.txt; then
  complain "a file of other accesses: $(cat other.txt)"
fi

mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo 'no mpirun of Open MPI' && exit $((failed ? failed : 77)); }
mpirun=(mpirun --oversubscribe)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)
rm -f shared.txt
"${mpirun[@]}" -n 3 "$program" solve "$work/random9.trace" --share shared.txt --time-limit 0 --json >ranks.json 2>ranks.err ||
  complain "status $? under mpirun: $(cat ranks.err)"
[ "$(grep -c conflicts_after ranks.json)" = 1 ] || complain 'not one rank prints'
"$work/checker" random9.trace ranks.json 5 || complain 'ranks: the checker refuses it'
cd "$root" || exit 2
exit $failed
