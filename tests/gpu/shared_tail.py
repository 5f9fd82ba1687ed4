#!/usr/bin/env python3
"""What an access behind the dynamic shared memory of a launch does on the GPU in this machine, and what
compute-sanitizer's memcheck says to it: a row for each size of static and dynamic shared memory and each
place. `kept`: what was stored is read again; an error: the launch fails. `private` counts the blocks, of
20000, whose word at the end of the granule changed while they waited. The sizes in the table are what the
special registers read, and `start` and `at` are shared addresses. Skipped (status 77) without a GPU.
Run as: shared_tail.py OUT, where gpu/build.sh has made OUT/shared_tail; or shared_tail.py PROGRAM.
"""
import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import sys

PLACES = ["registers", "inside", "first", "last", "granule", "next_kib", "private"]
DYNAMIC = ["4", "100", "1000", str(48 * 1024 - 4), "max-4"]
STATIC = ["0", "4", "100", "1000"]
SANITIZER = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"


def probe(program, *words):
    """The fields of the line that the program prints, by name; the result is the last."""
    ran = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60)
    line = ran.stdout.strip().split("\n")[-1]
    fields = dict(re.findall(r"(\w+)=(\d+)", line))
    fields["bytes"] = line.split(" ")[1] if " " in line else "?"
    fields["result"] = re.sub(r".*total_smem_size=\d+ ", "", line) or f"status {ran.returncode}: {ran.stderr[-80:]}"
    return fields


def memcheck(program, *words):
    """How many errors memcheck counts, and the first kind that it names."""
    if not os.path.exists(SANITIZER):
        return "not tried"
    ran = subprocess.run([SANITIZER, "--tool", "memcheck", program, *words], capture_output=True, text=True,
                         check=False, timeout=120)
    told = ran.stdout + ran.stderr
    count = re.search(r"ERROR SUMMARY: (\d+) error", told)
    kind = re.search(r"Invalid __\w+__ \w+ of size \d+ bytes", told)
    return (count.group(1) if count else "no summary") + (", " + kind.group(0) if kind else "")


def make_row(case):
    """A row of the table, for (program, static, dynamic, place)."""
    _, static, _, place = case
    seen = probe(*case)
    told = memcheck(*case) if place in ("inside", "first", "last") else ""
    numbers = [seen.get(name, "?") for name in ("start", "at", "dynamic_smem_size", "total_smem_size")]
    return "| " + " | ".join([static, seen["bytes"], place, *numbers, seen["result"], told]) + " |"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    program = sys.argv[1]
    if os.path.isdir(program):
        program = os.path.join(program, "shared_tail")
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi"], capture_output=True, check=False).returncode:
        print("no NVIDIA GPU")
        return 77
    print("| static | dynamic | place | start | at | dynamic_smem_size | total_smem_size | result | memcheck errors |")
    print("|---:|---:|---|---:|---:|---:|---:|---|---|")
    cases = [(program, *case) for case in itertools.product(STATIC, DYNAMIC, PLACES)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for row in pool.map(make_row, cases):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
