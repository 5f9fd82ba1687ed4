#!/usr/bin/env python3
"""Kernels as ordinary programs have them (bench/apps.cu) under exec, for one build or two beside each other:
bench/apps.py [--threads N] [--rounds N] BUILD [OTHER_BUILD] [NAME...]

Prints thread instructions (in billions) per second of CPU time, the best of some rounds, all launches run; CPU time is that of the
launches, as the program takes it. Needs nvcc."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

# How large each is: so that it takes some tenths of a second.
TIMES = {"bfs": 8, "spmv_scalar": 8, "spmv_warp": 8, "nw": 2, "hotspot": 6, "pathfinder": 6, "mandelbrot": 3, "collatz": 8, "queens": 200,
         "searches": 8, "tree": 8, "kmeans": 20, "nbody": 3, "floyd": 2, "lud": 10, "edits": 12, "strings": 12, "components": 8,
         "monte_carlo": 20, "stencil7": 8, "bitonic": 8, "gauss": 3}


def measure(build, program, name, threads):
    """(Billions of thread instructions per second, lanes of a warp instruction, checksum)."""
    command = [os.path.join(build, "bankfold"), "exec", "--threads", str(threads), "--every-launch", "--json", program, name, str(TIMES[name])]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    checksum, seconds = run.stderr.split("\n")[0].split()[:2]
    kernels = json.loads(run.stdout)["kernels"]
    instructions = sum(kernel["thread_instructions"] for kernel in kernels)
    return instructions / float(seconds) / 1e9, instructions / sum(kernel["warp_instructions"] for kernel in kernels), checksum


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("what", nargs="+", help="builds, then names")
    options = parser.parse_args()
    builds = [word for word in options.what if word not in TIMES]
    names = [word for word in options.what if word in TIMES] or list(TIMES)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "apps")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apps.cu")
        subprocess.run([nvcc, "-arch=sm_90", "-lineinfo", "-cudart", "shared", "-o", program, source], check=True)
        sums = [0.0] * len(builds)
        print(f"{'program':12} {'lanes':>5}" + "".join(f"{os.path.basename(os.path.dirname(os.path.abspath(b))):>10}" for b in builds))
        for name in names:
            rows = [[measure(build, program, name, options.threads) for build in builds] for _ in range(options.rounds)]
            if len({row[2] for round_ in rows for row in round_}) > 1:
                sys.exit(f"{name}: results differ")
            best = [max(round_[i][0] for round_ in rows) for i in range(len(builds))]
            sums = [sum_ + math.log(rate) for sum_, rate in zip(sums, best)]
            print(f"{name:12} {rows[0][0][1]:5.1f}" + "".join(f"{rate:10.2f}" for rate in best), flush=True)
        print(f"{'mean':18}" + "".join(f"{math.exp(sum_ / len(names)):10.2f}" for sum_ in sums))


if __name__ == "__main__":
    main()
