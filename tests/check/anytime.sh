#!/usr/bin/env bash
# Ctrl-C gives the best hash so far with its bound, by every method, class and question and the ladder, soon and with
# status 0; a limit too
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

# Every other search, interrupted after half a second: those that have ended by then tell nothing here, the others end
# within a second of processor time.
python3 - "$build/bankfold" "$work" <<'PYTHON' || failed=1
import json, os, resource, signal, subprocess, sys, time
program, work = sys.argv[1:]
questions = [["--method", method] for method in ("bit-vector", "givargis", "givargis-literal", "min-imbalance", "padding", "modulo")]
questions += [["--method", "exact", "--class", name] for name in ("row", "cute", "one-term", "two-term", "tma")]
questions += [["--method", method, "--pairs"] for method in ("givargis", "min-imbalance")]
questions += [["--method", "exact", "--most-xors", "8"], ["--joint"], ["--front"], ["--also", "ampere", "--method", "exact"]]
def seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
failed = False
for question in questions:
    before = seconds()
    run = subprocess.Popen([program, "solve", f"{work}/many.trace", *question, "--time-limit", "300", "--json"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(0.5)
    if run.poll() is not None:
        continue
    with open(f"/proc/{run.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate()
    later = seconds() - before - used
    # on a busy machine it may not have begun
    if run.returncode == -signal.SIGINT and used < 0.05:
        print(f"{question}: had not begun")
    elif run.returncode or "conflicts_after" not in json.loads(out):
        print(f"{question}: status {run.returncode}, {out[:200]} {err[:200]}")
        failed = True
    elif later > 1:
        print(f"{question}: went on for {later:.1f} s after Ctrl-C")
        failed = True
sys.exit(failed)
PYTHON

"$build/bankfold" solve "$work/many.trace" --method givargis --time-limit 60 --json >"$work/whole.json" || failed=1
# a pipe is read to its end
# shellcheck disable=SC2002 # it is to be a pipe
cat "$work/many.trace" | "$build/bankfold" solve - --method givargis --time-limit 0.001 --json >"$work/part.json" || failed=1
python3 - "$work" <<'PYTHON' || failed=1
import json, sys
whole, part = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("whole", "part"))
assert whole["counted"] == 1 and 0 < part["counted"] < 1, (whole["counted"], part["counted"])
assert abs(part["conflicts_before"] / whole["conflicts_before"] - 1) < 0.1, (whole, part)
assert not part["proven"] and part["lower_bound"] <= part["conflicts_after"], part
PYTHON
exit $failed
