#!/usr/bin/env python3
"""Wavefronts of the corpus on the GPU in this machine, plain and with hashed addresses, as CSV.

Runs gpu/measure --once under Nsight Compute and joins its lines with the counters, launch by launch.
Skipped (status 77) without a GPU or ncu. Run as: wavefronts.py OUT HASHES [BENCHMARK...], where OUT is
what gpu/build.sh made.
"""
import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile

SASS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
MORE = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
# What a load, store or atomic is made of. Atomics on floats are loops of loads and stores.
KINDS = {"ld": [SASS + "ld.sum", MORE + "ldsm.sum"],
         "st": [SASS + "st.sum", MORE + "stsm.sum", MORE + "ldgsts.sum"],
         "atom": [SASS + "atom.sum"]}
OTHERS = ["smsp__inst_executed.sum"]


def main():
    if not shutil.which("nvidia-smi") or not shutil.which("ncu"):
        print("no NVIDIA GPU, or no ncu")
        return 77
    out, scales, hashes, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    metrics = [m for own in KINDS.values() for m in own] + OTHERS
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "ncu.csv")
        run = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
                              "--log-file", log, "--metrics", ",".join(metrics),
                              os.path.join(out, "measure"), scales, hashes, "--once"] + names,
                             capture_output=True, text=True, check=False)
        sys.stderr.write(run.stderr)
        text = open(log).read()
    if '"ID"' not in text:
        sys.exit(f"ncu failed:\n{text[-2000:]}")
    counted = list(csv.DictReader(io.StringIO(text[text.index('"ID"'):])))[1:]
    launched = list(csv.DictReader(io.StringIO(run.stdout)))
    if len(counted) != len(launched):
        sys.exit(f"{len(launched)} launches, but counters of {len(counted)}")
    print("benchmark,way,launch,kernel,ld,st,atom,instructions,result")
    for row, counters in zip(launched, counted):
        if counters["Kernel Name"].split("(")[0] != row["kernel"]:
            sys.exit(f"counters of {counters['Kernel Name']} beside kernel {row['kernel']}")
        value = {m: int(float(counters[m].replace(",", ""))) for m in metrics}
        sums = [sum(value[m] for m in own) for own in KINDS.values()]
        print(",".join(map(str, [row["benchmark"], row["way"], row["launch"], row["kernel"]] + sums +
                           [value[m] for m in OTHERS] + [row["result"]])))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
