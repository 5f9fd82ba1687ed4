#!/usr/bin/env python3
"""How often the interval of `sim --sample auto` holds the cycles of the full simulation, over the benchmarks of the corpus.

    bench/sample_coverage.py build/bankfold [--seconds N] [--gpu GPU] [--padded] [BENCHMARK...]

Each benchmark runs on an H200, or --gpu, of --sms multiprocessors, so that waves are small and launches have many, at the largest
scale whose full simulation takes about N seconds. Each launch of which a part was simulated, or none, is compared with
itself in the full simulation: one JSON line each, with `score`, how far off it is as a share of half the interval (at
most 1: inside). The last line has the coverage of both halves: benchmarks in the order of `bankfold corpus` go to one
half and the other in turn; padded ones are left out, or with --padded the others: no constant was chosen by them,
so that both halves judge. `factor` is what intervals would have to be
multiplied with so that 95% of the first half lie inside, and `judged` how many of the second half do then: constants
may be chosen by the first half alone."""
import argparse
import json
import math
import resource
import subprocess
import sys


def simulate(program, benchmark, scale, machine, sample):
    """The launches of a benchmark, and the seconds of a core it took; None: it does not run at this scale."""
    command = [program, "sim", "--benchmark", benchmark, "--gpu", machine[0], "--set", f"sms={machine[1]}", "--json",
               "--scale", str(scale), "--threads", "1"]
    if sample:
        command += ["--sample", "auto"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return None if done.returncode else (json.loads(done.stdout), seconds)


def largest(program, benchmark, machine, seconds):
    """The full simulation at the largest scale that takes about so long."""
    found, scale = None, 1
    while scale <= 1024:
        full = simulate(program, benchmark, scale, machine, False)
        if not full:
            break
        found = scale, full
        if full[1] > seconds / 4:
            break
        scale *= 4 if full[1] > seconds / 64 else 16
    return found


def compare(program, benchmark, machine, seconds):
    """Rows for the launches of which not all was simulated."""
    found = largest(program, benchmark, machine, seconds)
    if not found:
        return
    scale, (full, full_seconds) = found
    part = simulate(program, benchmark, scale, machine, True)
    if not part:
        return
    some, some_seconds = part
    for whole, own in zip(full["launches"], some["launches"]):
        if "cycles_high" not in own:
            continue
        half = max(own["cycles_high"] - own["cycles"], 1)
        yield {"benchmark": benchmark, "scale": scale, "kernel": own["kernel"], "blocks": own["blocks"],
               "simulated_blocks": own["simulated_blocks"], "cycles": whole["cycles"], "sampled": own["cycles"],
               "error": round(own["cycles"] / whole["cycles"] - 1, 4),
               "half": round(half / own["cycles"], 4),
               "score": round(abs(own["cycles"] - whole["cycles"]) / half, 3),
               "seconds": [round(full_seconds, 2), round(some_seconds, 2)]}


def benchmarks(program, padded):
    """Names of the corpus, each with its half: padded ones, or the others."""
    lines = subprocess.run([program, "corpus"], capture_output=True, text=True, check=True).stdout.split("\n")[1:]
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    wanted = [name for name in names if name.endswith("-padded") == padded]
    return [(name, index % 2) for index, name in enumerate(wanted)]


def by_benchmark(rows):
    """Rows with weights: a benchmark counts once, however many launches it has."""
    names = [row["benchmark"] for row in rows]
    return [(row["score"], 1 / names.count(name)) for row, name in zip(rows, names)]


def coverage(rows, factor=1.0):
    """The share of benchmarks inside; None: there are none."""
    weighed = by_benchmark(rows)
    total = sum(weight for _, weight in weighed)
    return round(sum(weight for score, weight in weighed if score <= factor) / total, 3) if total else None


def factor_of(rows):
    """What holds 95% of benchmarks."""
    weighed, held = sorted(by_benchmark(rows)), 0.0
    total = sum(weight for _, weight in weighed)
    for score, weight in weighed:
        held += weight
        if held >= 0.95 * total - 1e-9:
            return score
    return math.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--sms", type=int, default=2)
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--padded", action="store_true")
    options = parser.parse_args()
    halves = ([], [])
    for name, half in benchmarks(options.program, options.padded):
        if options.names and name not in options.names:
            continue
        for row in compare(options.program, name, (options.gpu, options.sms), options.seconds):
            halves[half].append(row)
            print(json.dumps({**row, "half_of": half}), flush=True)
    factor = factor_of(halves[0]) if halves[0] else None
    print(json.dumps({"bench": "sample_coverage", "launches": [len(half) for half in halves],
                      "inside": [coverage(half) for half in halves], "factor": factor,
                      "judged": coverage(halves[1], factor) if factor else None}))


if __name__ == "__main__":
    sys.exit(main())
