#!/usr/bin/env python3
"""The benchmark corpus on the GPU in this machine: results, and wavefronts launch by launch.

Runs every benchmark on the GPU and compares its results with the CPU reference (as `bankfold corpus
--gpu` does), then again under Nsight Compute, and compares load, store and atomic wavefronts of
every launch with what the emulator counts. Skipped (status 77) without a Hopper GPU or ncu. Run as:
corpus.py BUILD_FOLDER [NAME...]
"""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

SASS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
LSU = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
MORE = [("ld", "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"),
        ("st", "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum"),
        ("st", "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum")]
KINDS = ("ld", "st", "atom")
METRICS = [SASS + k + ".sum" for k in KINDS] + [LSU + k + ".sum" for k in KINDS] + [m for _, m in MORE]


def missing():
    if not shutil.which("nvidia-smi"):
        return "no NVIDIA GPU"
    query = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                           capture_output=True, text=True, check=False)
    if not query.stdout.startswith("9.0"):
        return "no Hopper GPU"
    return None if shutil.which("ncu") else "no ncu"


def benchmarks(command):
    run = subprocess.run(command + ["--json"], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout)["benchmarks"]


def measure(command):
    """(kernel, [ld, st, atom] by SASS, the same by L1) of every launch, in order."""
    run = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics",
                          ",".join(METRICS)] + command, capture_output=True, text=True, check=False)
    if '"ID"' not in run.stdout:
        sys.exit(f"ncu failed:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}")
    rows = list(csv.DictReader(io.StringIO(run.stdout[run.stdout.index('"ID"'):])))[1:]
    launches = []
    for row in rows:
        count = [int(float(row[m].replace(",", ""))) for m in METRICS]
        sass, lsu = count[0:3], count[3:6]
        for (kind, _), wavefronts in zip(MORE, count[6:]):
            sass[KINDS.index(kind)] += wavefronts
        launches.append((row["Kernel Name"].split("(")[0], sass, lsu))
    return launches


def main():
    reason = missing()
    if reason:
        print(reason)
        return 77
    program = os.path.join(sys.argv[1], "bankfold")
    chosen = sys.argv[2:] or ["--all"]
    wrong = [b for b in benchmarks([program, "corpus", "--gpu"] + chosen) if not b["right"]]
    for b in wrong:
        print(f"{b['name']}: wrong on the GPU: {b['first_wrong']}")
    modelled = benchmarks([program, "corpus", "--machine", "hopper"] + chosen)
    measured = iter(measure([program, "corpus", "--gpu"] + chosen))
    print("benchmark,kernel,launches,model_ld,model_st,model_atom,sass_ld,sass_st,sass_atom,"
          "l1tex_ld,l1tex_st,l1tex_atom,equal")
    launches = equal = 0
    whole = []
    for b in modelled:
        rows = {}
        good = True
        for launch in b["launches"]:
            kernel, sass, lsu = next(measured)
            if kernel != launch["kernel"]:
                sys.exit(f"{b['name']}: launch of {launch['kernel']}, measured {kernel}")
            model = [launch["wavefronts_" + k] for k in ("load", "store", "atomic")]
            row = rows.setdefault(kernel, [0, [0] * 9, 0])
            row[0] += 1
            row[1] = [x + y for x, y in zip(row[1], model + sass + lsu)]
            row[2] += model == sass
            launches += 1
            equal += model == sass
            good = good and model == sass
        for kernel, (count, sums, same) in rows.items():
            print(",".join(map(str, [b["name"], kernel, count] + sums + [f"{same}/{count}"])))
        whole += [b["name"]] if good else []
    print(f"{equal} of {launches} launches equal; {len(whole)} of {len(modelled)} benchmarks equal "
          f"in every launch; {len(modelled) - len(wrong)} of {len(modelled)} right on the GPU")
    return 1 if wrong or len(whole) < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
