#!/usr/bin/env bash
# For a quiet machine: the emulator's code for its best instruction set is right, and what a second core gains: milliseconds
# of a launch by the clock and by CPU time, with one worker and with two, for each kernel of bench/weak.cu:
# bench/quiet.sh BUILD-FOLDER (built: ninja -C BUILD bench/bench_weak tests/check_emu)
# "times" is how often as fast two workers are by the clock; G/s are thread instructions (in billions) per second of CPU time of
# one worker, "host" those that this host's memory allows: the same loads in plain C.
set -eu
cd "$(dirname "$0")/.."
build=$1
"$build/tests/check_emu" | tail -n 1
"$build/bench/bench_weak" | python3 -c '
import json, sys
rows = {}
for line in sys.stdin:
    row = json.loads(line)
    rows.setdefault(row["kernel"], {})[row["workers"]] = row
print("instruction set " + row["set"])
heading = ("kernel", "one: clock", "CPU", "two: clock", "CPU", "times", "G/s", "host")
print("{:16} {:>10} {:>8} {:>11} {:>8} {:>6} {:>6} {:>6}".format(*heading))
for kernel, of in rows.items():
    if kernel == "launch" or len(of) < 2:
        continue
    one, two = of[1], of[2]
    host = one.get("host_per_cpu_second")
    print("{:16} {:10.2f} {:8.2f} {:11.2f} {:8.2f} {:6.2f} {:6.2f} {:>6}".format(
        kernel, one["milliseconds"], one["cpu_milliseconds"], two["milliseconds"], two["cpu_milliseconds"],
        one["milliseconds"] / two["milliseconds"], one["thread_instructions_per_cpu_second"] / 1e9,
        "{:.2f}".format(host / 1e9) if host else ""))
print("launch, microseconds by the clock and of CPU time:",
      *("%s %s" % (of["microseconds"], of["cpu_microseconds"]) for of in rows["launch"].values()))'
