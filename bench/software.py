#!/usr/bin/env python3
"""Writes tests/data/h200/software.csv from the raw data of the corpus with hashes on an H200 (docs/results.md): times in
nanoseconds and wavefronts of loads and stores, plain, padded by hand and with the best hash of the form a ^ ((a >> s) & m).
Empty: there is no padded version.   bench/software.py [ROOT]"""
import collections
import csv
import pathlib
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
results = root / "bench/results"
times, waves, bytes_ = collections.Counter(), collections.Counter(), collections.Counter()
for row in csv.DictReader(open(results / "2026-11-15-h200-hashed-times.csv")):
    key = row["benchmark"], row["way"]
    times[key] += int(row["median_ns"])
    bytes_[key] = max(bytes_[key], int(row["static_bytes"]) + int(row["dynamic_bytes"]))
for row in csv.DictReader(open(results / "2026-11-15-h200-hashed-wavefronts.csv")):
    waves[row["benchmark"], row["way"], "ld"] += int(row["ld"])
    waves[row["benchmark"], row["way"], "st"] += int(row["st"])

with open(root / "tests/data/h200/software.csv", "w", newline="") as out:
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["benchmark", "plain_ns", "padded_ns", "xor_ns", "plain_ld", "plain_st", "xor_ld", "xor_st", "padded_bytes", "xor_bytes"])
    for name in sorted({b for b, way in times if way == "xor"}):
        padded = (name + "-padded", "plain")
        table.writerow([name, times[name, "plain"], times[padded] or "", times[name, "xor"]]
                       + [waves[name, way, op] for way in ("plain", "xor") for op in ("ld", "st")]
                       + [bytes_[padded] or "", bytes_[name, "xor"]])
