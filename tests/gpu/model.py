#!/usr/bin/env python3
"""The hopper model against the counters of the GPU in this machine, on accesses not seen before.

Writes random accesses as a trace, runs them one by one under Nsight Compute (tests/gpu/counters.cu)
and compares load, store and atomic wavefronts with `bankfold check`. Skipped (status 77) without a
Hopper GPU, nvcc or ncu. Run as: model.py BUILD_FOLDER [SEED [ACCESSES_PER_OPERATION]]
"""
import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

REPEATS = 8  # as in counters.cu
LSU = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
COPY = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"
METRICS = [LSU + "ld.sum", LSU + "st.sum", LSU + "atom.sum", COPY]
OPS = [("ld", 1), ("ld", 2), ("ld", 4), ("ld", 8), ("ld", 16), ("st", 1), ("st", 2), ("st", 4),
       ("st", 8), ("st", 16), ("atom", 4), ("red", 4), ("fatom", 4), ("cas", 4), ("max", 4),
       ("exch", 4), ("inc", 4), ("redv", 4), ("redmax", 4), ("f16x2", 4), ("f64", 8), ("redf", 4),
       ("ldmatrix1", 16), ("ldmatrix2", 16), ("ldmatrix4", 16), ("ldmatrixt4", 16),
       ("stmatrix4", 16), ("cp4", 4), ("cp8", 8), ("cp16", 16)]


def addresses(rng, width):
    """Strides, blocks, XOR patterns, pairs of equal lanes, and noise, in elements of the width."""
    kind = rng.randrange(6)
    limit = 160 * 1024 // width
    if kind == 0:
        s = rng.randint(0, 70)
        e = [lane * s for lane in range(32)]
    elif kind == 1:
        tx, sx, sy = rng.choice([2, 4, 8, 16]), rng.randint(0, 40), rng.randint(0, 70)
        e = [(lane % tx) * sx + (lane // tx) * sy for lane in range(32)]
    elif kind == 2:
        mask, s = rng.randrange(32), rng.randint(1, 40)
        e = [(lane ^ mask) * s + (lane & mask) for lane in range(32)]
    elif kind == 3:
        step = rng.choice([1, 2])
        pool = [rng.randrange(600) for _ in range(32)]
        e = [pool[lane & ~step] for lane in range(32)]
    elif kind == 4:
        span = rng.choice([4, 16, 64, 1000])
        e = [rng.randrange(span) for _ in range(32)]
    else:
        e = [rng.choice([rng.randrange(64) * 32, lane]) for lane in range(32)]
    return [x % limit * width for x in e]


def accesses(rng, per_op):
    for op, width in OPS:
        for _ in range(per_op):
            whole = "matrix" in op or rng.random() < 0.6
            mask = 0xFFFFFFFF if whole else rng.randrange(1, 1 << 32)
            yield op, width, mask, addresses(rng, width)


def missing():
    if not shutil.which("nvidia-smi"):
        return "no NVIDIA GPU"
    query = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                           capture_output=True, text=True, check=False)
    if not query.stdout.startswith("9.0"):
        return "no Hopper GPU"
    for tool in ("nvcc", "ncu"):
        if not shutil.which(tool):
            return f"no {tool}"
    return None


def measure(folder, lines):
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(folder, "counters")
    subprocess.run(["nvcc", "-arch=sm_90", "-O2", "-o", program, os.path.join(here, "counters.cu")],
                   check=True)
    run = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics",
                          ",".join(METRICS), program], input="".join(lines), capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:
        sys.exit(f"ncu failed:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}")
    table = run.stdout[run.stdout.index('"ID"'):]
    rows = list(csv.DictReader(io.StringIO(table)))[1:]  # the second line holds units
    counts = [[float(row[m].replace(",", "")) / REPEATS for m in METRICS] for row in rows]
    return [(load, store + copy, atomic) for load, store, atomic, copy in counts]


def main():
    reason = missing()
    if reason:
        print(reason)
        return 77
    build = sys.argv[1]
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    chosen = list(accesses(rng, int(sys.argv[3]) if len(sys.argv) > 3 else 6))
    lines = [f"{op} {width} {mask:08x} {' '.join(map(str, a))}\n" for op, width, mask, a in chosen]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "random.trace")
        with open(trace, "w", encoding="ascii") as out:
            out.writelines(lines)
        checked = json.loads(subprocess.run(
            [os.path.join(build, "bankfold"), "check", trace, "--machine", "hopper", "--json"],
            capture_output=True, text=True, check=True).stdout)["accesses"]
        measured = measure(folder, lines)
    wrong, per_op = 0, {}
    for line, counted, seen in zip(lines, checked, measured, strict=True):
        model = (counted["wavefronts_load"], counted["wavefronts_store"],
                 counted["wavefronts_atomic"])
        good = per_op.setdefault(f"{counted['op']} {counted['width']}", [0, 0])
        good[0] += 1
        good[1] += model == seen
        if model != seen:
            wrong += 1
            print(f"model {model}, measured {seen}: {line}", end="")
    for name, (total, same) in per_op.items():
        print(f"{name}: {same} of {total} accesses equal")
    print(f"{len(lines) - wrong} of {len(lines)} accesses equal")
    return 1 if wrong else 0


sys.exit(main())
