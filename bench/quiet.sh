#!/usr/bin/env bash
# For a quiet machine: the emulator's code for its best instruction set is right, and what a second core gains by the clock:
# bench/quiet.sh BUILD-FOLDER (built: ninja -C BUILD bench/bench_weak tests/check_emu)
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
print("kernel           one core  two cores  times")
for kernel, of in rows.items():
    if kernel == "launch" or len(of) < 2:
        continue
    one, two = (of[workers]["per_second"] / 1e9 for workers in (1, 2))
    print(f"{kernel:16} {one:8.2f} {two:10.2f} {two / one:6.2f}")
print("launch, microseconds:", *(of["microseconds"] for of in rows["launch"].values()))'
