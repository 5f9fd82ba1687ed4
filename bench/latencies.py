#!/usr/bin/env python3
"""Cycles of one load in a chain, simulated, beside published measurements of the same GPU.

    bench/latencies.py build/bankfold

One thread follows a chain in shared memory, in the second-level cache and in memory that no cache holds
(tr_chase and tr_shared_chase of reproduce/h200/h200_train.ptx); a chain twice as long takes so many cycles
more. What others publish differs by how far apart their chains reach and by what they take off.
"""
import json
import os
import subprocess
import sys
import tempfile

JIA18 = "Jia et al., arXiv:1804.06826, table 3.1"
MT4G = "github.com/caps-tum/mt4g, sample_results"
LUO24 = "Luo et al., arXiv:2402.13499, table IV"
LUO25 = "Luo et al., arXiv:2501.12084, table 3"
# GPU, place, cycles, source
PUBLISHED = [
    ("v100", "shared", 19, JIA18),
    ("v100", "shared", 23.5, MT4G),
    ("v100", "L2", 193, JIA18),
    ("v100", "L2", 214.5, MT4G),
    ("v100", "DRAM", 407.9, MT4G),
    ("a100", "shared", 29.0, LUO24),
    ("a100", "L2", 261.5, LUO24),
    ("a100", "L2", 221.0, MT4G),
    ("a100", "DRAM", 466.3, LUO24),
    ("a100", "DRAM", 640.1, MT4G),
    ("rtx4090", "L2", 273, LUO25),
    ("rtx4090", "DRAM", 571, LUO25),
]
# Kernel, words of the chain, steps
PLACES = {"shared": ("tr_shared_chase", 1024, 256), "L2": ("tr_chase", 1024, 1024), "DRAM": ("tr_chase", 1 << 25, 128)}


def simulate(program, gpu, place, steps):
    """The cycles of a launch."""
    kernel, words, _ = PLACES[place]
    with tempfile.NamedTemporaryFile("w", suffix=".launch") as launch:
        launch.write(f"buffer in u32 {words} random 0 2000000000\nbuffer out u32 32 zero\n")
        launch.write(f"launch {kernel} grid 1 block 1 with out in u32:{words} u32:{steps} u32:0\n")
        launch.flush()
        ptx = os.path.join(os.path.dirname(__file__), "..", "reproduce", "h200", "h200_train.ptx")
        command = [program, "sim", ptx, "--launch", launch.name, "--gpu", gpu, "--json"]
        found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(found.stdout)["total"]["cycles"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    known = {}
    for gpu, place, cycles, source in PUBLISHED:
        if (gpu, place) not in known:
            steps = PLACES[place][2]
            known[gpu, place] = (simulate(sys.argv[1], gpu, place, 2 * steps) - simulate(sys.argv[1], gpu, place, steps)) / steps
        ours = known[gpu, place]
        print(f"{gpu:8} {place:6} simulated {ours:6.1f}  published {cycles:6.1f}  ratio {ours / cycles:.2f}  {source}")


main()
