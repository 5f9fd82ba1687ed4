#!/usr/bin/env python3
"""Gains of rewritten kernels, simulated and measured (bench/results/2026-11-18-sim-worth.md).

    bench/sim_pairs.py simulate BUILD --half A|B --output FILE.csv [--only BENCHMARK]
    bench/sim_pairs.py judge FILE.csv --half A|B [--fit OTHER.csv]

`simulate` simulates the pairs of a half: kernels of the corpus as they are and rewritten, on a whole H200, at the scale at which
an H200 has run them. `judge` prints one JSON line: shares of the interval that hold 80% and 50% of the half, how many pairs lie inside with the
shares of the file of --fit (or its own), and what each rule would decide, with every kernel that is decided otherwise than by the present one."""
import argparse
import collections
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
TIMES, CODE = "2026-11-15-h200-hashed-times.csv", "2026-11-18-sim-worth-ptx.tar.zst"
# Benchmarks that take a core many minutes: over 60 million warp instructions.
LEFT_OUT = {"lud", "hough", "hough-binmajor", "stencil", "reduction", "mri-gridding-sort", "fft1024", "lud-diagonal", "needleman-1",
            "needleman-2"}
FIELDS = ["benchmark", "kernel", "hash", "launches", "before_ns", "after_ns", "before_wavefronts", "after_wavefronts",
          "before_instructions", "after_instructions", "before_cycles", "after_cycles", "before_work", "after_work"]
# As in src/sim/worth.c and src/tune/judge.h.
BESIDES, MARGIN, LOSS = 0.1, 0.04, 0.01


def half_of(kernel):
    return "AB"[zlib.crc32(kernel.encode()) % 2]


# ---- Pairs ----

def measured():
    """By benchmark: scale, seed, and by way and kernel the hash and the sum of nanoseconds of all launches."""
    found = {}
    with open(os.path.join(RESULTS, TIMES), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["way"].startswith("try") or row["benchmark"] in LEFT_OUT:
                continue
            own = found.setdefault(row["benchmark"], (row["scale"], row["seed"], {}))
            sums = own[2].setdefault((row["way"], row["kernel"]), [row["hash"], 0.0])
            sums[1] += float(row["median_ns"])
    return found


def simulate(options):
    with tempfile.TemporaryDirectory() as folder, open(options.output, "w", encoding="utf-8") as output:
        code = subprocess.run(["zstd", "-dc", os.path.join(RESULTS, CODE)], capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=code, check=True)
        table = csv.DictWriter(output, FIELDS, lineterminator="\n")
        table.writeheader()
        for benchmark, (scale, seed, runs) in measured().items():
            wanted = {way: own for way, own in runs.items() if own[0] != "none" and half_of(way[1]) == options.half}
            ways = sorted({way for way, _ in wanted})
            if not ways or (options.names and benchmark not in options.names):
                continue
            files = [f"{way}={folder}/{benchmark}.{way}.ptx" for way in ways]
            lines = subprocess.run([os.path.join(options.build, "gpu", "pairs"), benchmark, scale, seed, *files], check=True,
                                   capture_output=True, text=True).stdout.splitlines()
            took = {(line[1], line[2]): line[3:] for line in csv.reader(lines)}
            for (way, kernel), (hash_, after_ns) in sorted(wanted.items()):
                before, after = took["plain", kernel], took[way, kernel]
                table.writerow({"benchmark": benchmark, "kernel": kernel, "hash": hash_, "launches": before[0],
                                "before_ns": runs["try-plain", kernel][1], "after_ns": after_ns,
                                "before_wavefronts": before[1], "after_wavefronts": after[1], "before_instructions": before[2],
                                "after_instructions": after[2], "before_cycles": before[3], "after_cycles": after[3],
                                "before_work": before[4], "after_work": after[4]})
            output.flush()


# ---- Judging ----

def read(path):
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        value = lambda name, own=row: float(own[name])
        row["measured"] = math.log(value("before_ns") / value("after_ns"))
        row["simulated"] = math.log(value("before_cycles") / value("after_cycles"))
        row["saved"] = (value("before_work") - value("after_work")) / value("before_cycles")
        row["score"] = abs(row["measured"] - row["simulated"]) / (BESIDES + abs(row["simulated"]))
    count = collections.Counter(row["kernel"] for row in rows)
    for row in rows:
        row["weight"] = 1 / count[row["kernel"]]
    return rows


def share_of(rows, part):
    """The least share with which that part of kernels lies inside."""
    whole, inside = sum(row["weight"] for row in rows), 0
    for row in sorted(rows, key=lambda own: own["score"]):
        inside += row["weight"]
        if inside >= part * whole - 1e-9:
            return row["score"]
    return 0


def lies_above(row, share):
    return row["simulated"] - share * (BESIDES + abs(row["simulated"])) > 0


def rules_of(eighty, fifty):
    present = lambda row: row["simulated"] > 0 and row["saved"] >= MARGIN
    in_80, in_50 = lambda row: lies_above(row, eighty), lambda row: lies_above(row, fifty)
    return {"P": present, "I": in_80, "P and I": lambda row: present(row) and in_80(row), "P or I": lambda row: present(row) or in_80(row),
            "H": in_50, "P and H": lambda row: present(row) and in_50(row), "P or H": lambda row: present(row) or in_50(row)}


def decide(rows, rule):
    """What a rule takes for each kernel: its row, or None."""
    taken = {row["kernel"]: None for row in rows}
    for row in rows:
        best = taken[row["kernel"]]
        if rule(row) and (not best or row["simulated"] > best["simulated"]):
            taken[row["kernel"]] = row
    return taken


def summary(taken, present):
    gains = {kernel: row["measured"] if row else 0.0 for kernel, row in taken.items()}
    changed = {kernel: [round(math.exp(present[kernel]["measured"]), 3) if present[kernel] else None,
                        round(math.exp(row["measured"]), 3) if row else None]
               for kernel, row in taken.items() if row is not present[kernel]}
    return {"mean_gain": round(math.exp(sum(gains.values()) / len(gains)), 4), "taken": sum(row is not None for row in taken.values()),
            "losses": sorted(kernel for kernel, gain in gains.items() if gain < math.log(1 - LOSS)), "otherwise": changed}


def judge(options):
    rows = read(options.file)
    if any(half_of(row["kernel"]) != options.half for row in rows):
        sys.exit("sim_pairs.py: the file has kernels of the other half")
    fitted = read(options.fit) if options.fit else rows
    eighty, fifty = share_of(fitted, 0.8), share_of(fitted, 0.5)
    certain = [row for row in rows if abs(row["measured"]) > math.log(1.03)]
    rules = rules_of(eighty, fifty)
    present = decide(rows, rules["P"])
    kernels = len(present)
    weigh = lambda is_so: round(sum(row["weight"] for row in rows if is_so(row)), 1)
    print(json.dumps({
        "half": options.half, "pairs": len(rows), "kernels": kernels, "share_80": round(eighty, 3), "share_50": round(fifty, 3),
        "pairs_inside_80": sum(row["score"] <= eighty for row in rows), "kernels_inside_80": weigh(lambda row: row["score"] <= eighty),
        "mean_error": round(sum(row["weight"] * abs(row["measured"] - row["simulated"]) for row in rows) / kernels, 3),
        "sign_right": [sum(row["measured"] * row["simulated"] > 0 for row in certain), len(certain)],
        "rules": {name: summary(decide(rows, rule), present) for name, rule in rules.items()}}, indent=1))
    if options.list:
        for row in rows:
            print(f"{row['kernel']:24} {row['hash'][:40]:40} measured {math.exp(row['measured']):.3f} simulated "
                  f"{math.exp(row['simulated']):.3f} score {row['score']:.2f} work saved {row['saved']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    ways = parser.add_subparsers(dest="way", required=True)
    one = ways.add_parser("simulate")
    one.add_argument("build")
    one.add_argument("--only", dest="names", action="append")
    one.add_argument("--output", required=True)
    other = ways.add_parser("judge")
    other.add_argument("file")
    other.add_argument("--fit")
    other.add_argument("--list", action="store_true")
    for own in (one, other):
        own.add_argument("--half", choices=("A", "B"), required=True)
    options = parser.parse_args()
    (simulate if options.way == "simulate" else judge)(options)


if __name__ == "__main__":
    main()
