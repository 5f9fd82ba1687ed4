#!/usr/bin/env python3
"""Wavefronts of the corpus on the emulator against the counters of an H200, recorded by
tests/gpu/corpus.py in tests/data/h200/corpus.csv. Run as: corpus_h200.py BUILD_FOLDER
"""
import csv
import json
import os
import subprocess
import sys

# Why the model and the hardware differ; docs/merging.md and bench/results say more.
KNOWN = {
    "convolution_rows": "ptxas unrolls the loop over rows and drops loads that two turns share",
    "convolution_columns": "ptxas unrolls the loop over columns and drops loads that two turns share",
    "convolution_columns_padded": "ptxas unrolls the loop over columns and drops loads",
    "weighted_major": "locks of float atomics are also taken by other warps",
    "weighted_padded": "locks of float atomics are also taken by other warps",
    "weighted_binmajor": "locks of float atomics are also taken by other warps",
}


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    run = subprocess.run([os.path.join(sys.argv[1], "bankfold"), "corpus", "--all", "--json"],
                         capture_output=True, text=True, check=True)
    modelled = {}
    for b in json.loads(run.stdout)["benchmarks"]:
        for launch in b["launches"]:
            sums = modelled.setdefault((b["name"], launch["kernel"]), [0, 0, 0, 0])
            for i, kind in enumerate(("load", "store", "atomic")):
                sums[i] += launch["wavefronts_" + kind]
            sums[3] += 1
    with open(os.path.join(here, "tests/data/h200/corpus.csv"), encoding="ascii") as file:
        rows = [r for r in csv.DictReader(file) if r["kernel"]]
    equal = wrong = 0
    for row in rows:
        measured = [int(row["sass_" + k]) for k in ("ld", "st", "atom")] + [int(row["launches"])]
        model = modelled.get((row["benchmark"], row["kernel"]))
        if model == measured:
            equal += 1
        elif row["kernel"] in KNOWN:
            print(f"{row['benchmark']}: {model} modelled, {measured} measured: {KNOWN[row['kernel']]}")
        else:
            wrong += 1
            print(f"WRONG {row['benchmark']} {row['kernel']}: {model} modelled, {measured} measured")
    names = {(row["benchmark"], row["kernel"]) for row in rows}
    for key in modelled.keys() - names:
        print(f"{key[0]} {key[1]}: not recorded")
    print(f"{equal} of {len(rows)} kernels equal the H200")
    return 1 if wrong or equal < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
