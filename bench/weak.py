#!/usr/bin/env python3
"""Two builds of bench_weak beside each other: bench/weak.py [--set NAME] OLD NEW [KERNEL...]

Runs them in turn, three times each, and prints the best of each by CPU time: thread instructions (in billions) per second of
a core, with one worker and with two, and microseconds per launch; host: what this host's memory allows, of kernels that
do little but load. --set: an instruction set (avx512, avx2, plain) other than the best. So other programs on the machine count for both alike."""
import json
import subprocess
import sys

ROUNDS = 3


def measure(program, set_name, names):
    """The lines of one run, by kernel and workers: (value, whether more is better, what the host allows)."""
    found = {}
    run = subprocess.run([program, set_name] + names, capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        row = json.loads(line)
        is_launch = row["kernel"] == "launch"
        value = row["cpu_microseconds"] if is_launch else row["thread_instructions_per_cpu_second"] / 1e9
        found[row["kernel"], row["workers"]] = (value, not is_launch, row.get("host_per_cpu_second", 0) / 1e9)
    return found


def best_set(program):
    for name in ("avx512", "avx2"):
        if subprocess.run([program, name, "none"], capture_output=True).returncode == 0:
            return name
    return "plain"


def main(old, new, *names):
    best, host = {}, {}
    if old == "--set":
        set_name, (old, new, *names) = new, names
    else:
        set_name = best_set(new)
    for _ in range(ROUNDS):
        for program in (old, new):
            for key, (value, is_rate, allowed) in measure(program, set_name, list(names)).items():
                host[key] = max(host.get(key, 0), allowed)
                kept = best.setdefault(key, {}).get(program)
                best[key][program] = value if kept is None else (max if is_rate else min)(kept, value)
    print(f"{set_name}\n{'kernel':16} {'workers':>7} {'old':>8} {'new':>8} {'times':>6} {'host':>6}")
    for (kernel, workers), of in best.items():
        if len(of) < 2:  # one of them does not have it
            continue
        times = of[old] / of[new] if kernel == "launch" else of[new] / of[old]
        allowed = f"{host[kernel, workers]:6.2f}" if host[kernel, workers] else ""
        print(f"{kernel:16} {workers:7} {of[old]:8.2f} {of[new]:8.2f} {times:6.2f} {allowed}".rstrip())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
