#!/usr/bin/env bash
# Ctrl-C gives the best hash so far with its bound, by every method and the ladder, with status 0; a limit too
# short to count all accesses gives an estimate that says so, and is near what all of them have.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$work" <<'PYTHON' || exit 1
import random, sys
chance = random.Random(4)
for name, accesses in (("many", 20000), ("few", 200)):
    with open(f"{sys.argv[1]}/{name}.trace", "w") as file:
        for _ in range(accesses):
            file.write("ld 4 ffffffff " + " ".join(str(4 * chance.randrange(4096)) for _ in range(32)) + "\n")
PYTHON
failed=0
complain() { echo "$1" && failed=1; }

# interrupted METHOD: what it prints when it is interrupted after two seconds. Jobs of scripts ignore interrupts, so
# that timeout sends it to what it runs in front.
interrupted() {
  timeout --foreground --signal=INT 2 "$build/bankfold" solve "$work/$2.trace" --method "$1" --time-limit 300 --json \
    >"$work/$1.json" 2>"$work/$1.err"
}
for method in exact ladder; do
  started=$SECONDS
  interrupted $method few
  # timeout's own status; the answer is whole where the program ended by itself
  python3 - "$work/$method.json" <<'PYTHON' || complain "$method: no answer after Ctrl-C"
import json, sys
answer = json.load(open(sys.argv[1]))
assert 0 < answer["lower_bound"] <= answer["conflicts_after"] <= answer["conflicts_before"], answer
PYTHON
  [ $((SECONDS - started)) -lt 60 ] || complain "$method: Ctrl-C was not heard"
done
(trap - INT; exec "$build/bankfold" solve "$work/few.trace" --method exact --time-limit 300 --json >"$work/own.json") &
own=$!
sleep 2
kill -INT $own
wait $own
status=$?
# A shell that was started with interrupts ignored cannot give them back.
[ $status = 0 ] || [ -s "$work/own.json" ] || complain "status $status after Ctrl-C"

"$build/bankfold" solve "$work/many.trace" --method givargis --time-limit 60 --json >"$work/whole.json" || failed=1
"$build/bankfold" solve "$work/many.trace" --method givargis --time-limit 0.001 --json >"$work/part.json" || failed=1
python3 - "$work" <<'PYTHON' || failed=1
import json, sys
whole, part = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("whole", "part"))
assert whole["counted"] == 1 and 0 < part["counted"] < 1, (whole["counted"], part["counted"])
assert abs(part["conflicts_before"] / whole["conflicts_before"] - 1) < 0.1, (whole, part)
assert not part["proven"] and part["lower_bound"] <= part["conflicts_after"], part
PYTHON
exit $failed
