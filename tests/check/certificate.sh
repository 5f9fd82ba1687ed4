#!/usr/bin/env bash
# What solve claims is accepted by a checker that shares no code with it, and claims that are changed
# are refused: a bound that is one too high, and conflicts that are one too few.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$work/checker" tests/certificate/checker.c || exit 1
python3 - "$work" <<'PYTHON' || exit 1
import random, sys
def write(name, accesses):
    with open(f"{sys.argv[1]}/{name}.trace", "w") as file:
        for words, count in accesses:
            file.write("ld 4 ffffffff " + " ".join(str(4 * w) for w in words) + f" x{count}\n")
chance = random.Random(20)
for bits, accesses in ((6, 12), (7, 6), (8, 10), (8, 40)):
    write(f"random{bits}_{accesses}", [([chance.randrange(1 << bits) for _ in range(32)], chance.randrange(1, 4))
                                       for _ in range(accesses)])
write("strides8", [([s * lane for lane in range(32)], 1) for s in range(1, 9)])
# whole blocks of four words, as accesses of 16 bytes have: the search keeps them, the checker does not
write("blocks8", [([4 * block + i for block in chance.sample(range(64), 8) for i in range(4)], 1) for _ in range(24)])
order = chance.sample(range(256), 256)
write("permutation256", [(order[32 * i:32 * i + 32], 1) for i in range(8)])
PYTHON
failed=0
for trace in "$work"/*.trace; do
  name=$(basename "$trace" .trace)
  "$build/bankfold" solve "$trace" --method exact --time-limit 60 --json >"$work/answer.json" || exit 1
  grep -q '"proven": true' "$work/answer.json" || { echo "$name: not proven" && failed=1; }
  said=$("$work/checker" "$trace" "$work/answer.json" 5) || { echo "$name: $said" && failed=1; }
  echo "$name: $said"
  python3 - "$work" <<'PYTHON' || exit 1
import re, sys
answer = open(f"{sys.argv[1]}/answer.json").read()
for key, by in (("lower_bound", 1), ("conflicts_after", -1)):
    forged = re.sub(rf'("{key}": )(\d+)', lambda m: m[1] + str(max(int(m[2]) + by, 0)), answer)
    open(f"{sys.argv[1]}/{key}.json", "w").write(forged)
PYTHON
  for forged in lower_bound conflicts_after; do
    cmp -s "$work/$forged.json" "$work/answer.json" && continue
    "$work/checker" "$trace" "$work/$forged.json" 5 >/dev/null
    [ $? = 1 ] || { echo "$name: a forged $forged is accepted" && failed=1; }
  done
done
exit $failed
