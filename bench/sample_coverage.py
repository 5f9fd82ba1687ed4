#!/usr/bin/env python3
"""How often the interval of `sim --sample auto` holds the cycles of the full simulation.

    bench/sample_coverage.py build/bankfold --launches train|test [--sms N] [KERNEL...]
    bench/sample_coverage.py build/bankfold [--seconds N] [--gpu GPU] [--sms N] [--padded] [BENCHMARK...]

With --launches, on launches of `reproduce h200-launches` with H200s of --sms multiprocessors, so that waves are small and launches
have many: those with at least LEAST_WAVES waves, and of each kernel the two with most instructions that a core simulates in some seconds. The two
sets share no kernel. Constants of src/sim/sample.c are chosen by `train` alone; `test` was run when they were.

Otherwise on the benchmarks of the corpus, each at the largest scale whose full simulation takes about N seconds. Their rows had been
seen when constants were chosen; padded ones, which are left out or with --padded are the only ones, had not.

Each launch of which a part was simulated, or none, is compared with itself in the full simulation: one JSON line each, with
`score`, how far off it is as a share of half the interval (at most 1: inside). In the last line, kernels or benchmarks count once,
however many launches they have: `inside` is the share of them whose launches lie inside, `factor` what intervals would have to be
multiplied with so that 95% do, `within_3_percent` the share that is off by at most 3%, `saved` how many times fewer seconds of a core sampling
took."""
import argparse
import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

# Launches that are compared: waves of the GPU, and warp instructions as the H200 counted them.
LEAST_WAVES, INSTRUCTIONS, LAUNCHES_OF_A_KERNEL = 9, (1e5, 4e6), 2
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def simulate(program, what, machine, sample):
    """The launches of what `sim` is asked for, and the seconds of a core it took; None: it does not run."""
    command = [program, "sim", *what, "--gpu", machine[0], "--set", f"sms={machine[1]}", "--json", "--threads", "1"]
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
        what = ["--benchmark", benchmark, "--scale", str(scale)]
        full = simulate(program, what, machine, False)
        if not full:
            break
        found = what, full
        if full[1] > seconds / 4:
            break
        scale *= 4 if full[1] > seconds / 64 else 16
    return found


def compare(program, name, what, full, machine):
    """Rows for the launches of which not all was simulated."""
    part = simulate(program, what, machine, True)
    if not part:
        return
    for whole, own in zip(full[0]["launches"], part[0]["launches"]):
        if "cycles_high" not in own:
            continue
        half = max(own["cycles_high"] - own["cycles"], 1)
        yield {"name": name, "kernel": own["kernel"], "blocks": own["blocks"],
               "simulated_blocks": own["simulated_blocks"], "cycles": whole["cycles"], "sampled": own["cycles"],
               "error": round(own["cycles"] / whole["cycles"] - 1, 4),
               "half": round(half / own["cycles"], 4),
               "score": round(abs(own["cycles"] - whole["cycles"]) / half, 3),
               "seconds": [round(full[1], 2), round(part[1], 2)]}


def listed(half, sms):
    """Launches of one of the two sets: kernel, set and line of the list."""
    data = os.path.join(ROOT, "tests", "data", "h200")
    with open(os.path.join(data, "launches.csv"), encoding="ascii") as some, \
         open(os.path.join(data, "launches_h200.csv"), encoding="ascii") as measured:
        both = list(zip(csv.DictReader(some), csv.DictReader(measured)))
    kernels = {}
    for launch, found in both:
        at_once = max(1, min(2048 // int(launch["threads"]), 32)) * sms
        fits = INSTRUCTIONS[0] <= float(found["instructions"]) <= INSTRUCTIONS[1]
        if (launch["set"] == "test") == (half == "test") and int(launch["blocks"]) >= LEAST_WAVES * at_once and fits:
            kernels.setdefault(launch["kernel"], []).append((float(found["instructions"]), launch))
    for name, launches in sorted(kernels.items()):
        for _, launch in sorted(launches, key=lambda own: -own[0])[:LAUNCHES_OF_A_KERNEL]:
            yield name, launch


def rows_of_launches(program, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "one.launch")
        for name, launch in listed(options.launches, options.sms):
            if options.names and name not in options.names:
                continue
            with open(path, "w", encoding="ascii") as file:
                file.write(f"buffer out u32 {launch['out_words']} zero\nbuffer in u32 {launch['in_words']} random 0 4294967295\n"
                           f"launch {name} grid {launch['blocks']} block {launch['threads']} shared {launch['shared_bytes']} "
                           f"with out in u32:{launch['n']} u32:{launch['p']} u32:{launch['q']}\n")
            what = [os.path.join(ROOT, "reproduce", "h200", f"h200_{launch['set']}.ptx"), "--launch", path]
            full = simulate(program, what, (options.gpu, options.sms), False)
            if full:
                yield from compare(program, name, what, full, (options.gpu, options.sms))


def rows_of_corpus(program, options):
    for name in benchmarks(program, options.padded):
        if options.names and name not in options.names:
            continue
        found = largest(program, name, (options.gpu, options.sms), options.seconds)
        if found:
            yield from compare(program, name, *found, (options.gpu, options.sms))


def benchmarks(program, padded):
    """Names of the corpus: padded ones, or the others."""
    lines = subprocess.run([program, "corpus"], capture_output=True, text=True, check=True).stdout.split("\n")[1:]
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    return [name for name in names if name.endswith("-padded") == padded]


def share(rows, is_so):
    """Of names, each counted once."""
    names = [row["name"] for row in rows]
    return round(sum(is_so(row) / names.count(row["name"]) for row in rows) / len(set(names)), 3)


def factor_of(rows):
    """What holds 95% of names."""
    scores = sorted(row["score"] for row in rows)
    return next((score for score in scores if share(rows, lambda row, most=score: row["score"] <= most) >= 0.95), math.inf)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--launches", choices=("train", "test"))
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--sms", type=int, default=2)
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--padded", action="store_true")
    options = parser.parse_intermixed_args()
    rows = []
    for row in (rows_of_launches if options.launches else rows_of_corpus)(options.program, options):
        rows.append(row)
        print(json.dumps(row), flush=True)
    if not rows:
        return
    print(json.dumps({"bench": "sample_coverage", "of": options.launches or "corpus", "launches": len(rows),
                      "names": len({row["name"] for row in rows}), "inside": share(rows, lambda row: row["score"] <= 1),
                      "factor": factor_of(rows), "within_3_percent": share(rows, lambda row: abs(row["error"]) <= 0.03),
                      "saved": round(sum(row["seconds"][0] for row in rows) / max(sum(row["seconds"][1] for row in rows), 0.01), 2)}))


if __name__ == "__main__":
    sys.exit(main())
