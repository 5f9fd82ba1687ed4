#!/usr/bin/env python3
"""Products of matrices and sums of arrays simulated on other GPUs, beside what others have measured of the same kernels.

    bench/published.py build/bankfold [GPU or KERNEL...]      published.ptx: nvcc -arch=compute_80 -ptx published.cu

Products (bench/published.cu) are published as rates of whole matrices, most of 4096 x 4096; here, blocks that fill the GPU two to four times compute over
k and 2 k elements of rows that are as far apart, and the difference gives the rate. Sums are published for 32 million floats under Nsight Compute, which by its
default holds the clock at its base; here, so many blocks and twice as many give the time of all. One line each: simulated, published, and the ratio of
simulated to published time."""
import json
import os
import subprocess
import sys
import tempfile

SPARSE = "github.com/vlejd/MASK_SGEMM_CUDA, README, A100-PCIE-40GB"
ADA = "a fork of github.com/siboehm/SGEMM_CUDA, README: RTX 4090 (Ada, SM89)"
FAST = "github.com/annanyapr/Fast-CUDA-Kernels, README, RTX 4090"
VOLTA = "README of 'Optimizing a CUDA Matmul Kernel for cuBLAS-like Performance: a Worklog', V100 32GB"
TEHNO = "github.com/jovantehno/rtx5090-gemm-210tflops, README, RTX 5090"
BBUF = "github.com/BBuf/how-to-optim-algorithm-in-cuda, reduce/README.md, A100-PCIE-40GB"
# GPU, kernel, threads of a block, words between rows, k, and GFLOP/s as published.
PRODUCTS = [("v100", "product_plain", (32, 32), 4096, 16, [(214.5, VOLTA)]),
            ("v100", "product_coalesced", (1024, 1), 4096, 64, [(2084.1, VOLTA)]),
            ("v100", "product_tiles", (1024, 1), 4096, 64, [(3809.3, VOLTA)]),
            ("a100", "product_plain", (32, 32), 4096, 16, [(290.7, SPARSE)]),
            ("a100", "product_coalesced", (1024, 1), 4096, 64, [(3006.9, SPARSE)]),
            ("a100", "product_tiles", (1024, 1), 4096, 64, [(4859.7, SPARSE)]),
            ("a100", "product_columns", (512, 1), 4096, 64, [(9260.8, SPARSE)]),
            ("rtx4090", "product_plain", (32, 32), 4096, 16, [(681.3, ADA), (635.3, FAST)]),
            ("rtx4090", "product_coalesced", (1024, 1), 4096, 64, [(4834, ADA), (4887.4, FAST)]),
            ("rtx4090", "product_tiles", (1024, 1), 4096, 64, [(6552, ADA), (6592, FAST)]),
            ("rtx4090", "product_columns", (512, 1), 4096, 64, [(19282.1, ADA)]),
            ("rtx5090", "halves_plain", (16, 16), 1024, 128, [(6970, TEHNO)]),
            ("rtx5090", "halves_tiles", (32, 32), 1024, 64, [(6150, TEHNO)])]
# The base clock of an A100-PCIE-40GB, by its product brief; DRAM's rate, in cycles, changes with it.
BASE_MHZ = {"a100": 765}
# GPU, kernel, words of a block, microseconds for 32 million as published
SUMS = [("a100", "sum_divergent", 256, 990.66, BBUF), ("a100", "sum_halves", 256, 462.02, BBUF), ("a100", "sum_two", 512, 244.16, BBUF)]
# Elements of the result that a block computes are a square of so many; blocks of a launch.
SIDES = {"product_columns": 64, "halves_plain": 16}
BLOCKS = {"v100": (16, 20), "a100": (18, 24), "rtx4090": (16, 24), "rtx5090": (34, 30)}
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "published.ptx")


def simulate(program, gpu, description, changes=()):
    """The total of a simulation."""
    with tempfile.NamedTemporaryFile("w", suffix=".launch") as launch:
        launch.write(description)
        launch.flush()
        options = [word for change in changes for word in ("--set", change)]
        found = subprocess.run([program, "sim", PTX, "--launch", launch.name, "--gpu", gpu, "--threads", "1", "--json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(found.stdout)["total"]


def parameter(program, gpu, name):
    """A parameter of a GPU, as `machines` prints it."""
    lines = subprocess.run([program, "machines", gpu], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return next(float(line.split()[1]) for line in lines if line.split()[:1] == [name])


def product(program, gpu, kernel, threads, ld, k):
    """GFLOP/s."""
    x, y = BLOCKS[gpu]
    side = SIDES.get(kernel, 32)
    kind, most = ("u16", 15000) if kernel.startswith("halves") else ("f32", 1)
    words = ld * side * max(x, y) + ld
    seconds = []
    for own in (k, 2 * k):
        total = simulate(program, gpu, f"buffer a {kind} {words} random 0 {most}\nbuffer b {kind} {words} random 0 {most}\nbuffer c {kind} {words} zero\n"
                         f"launch {kernel} grid {x} {y} block {threads[0]} {threads[1]} with a b c s32:{own} s32:{ld}\n")
        seconds.append(total["cycles"] / parameter(program, gpu, "clock_mhz") / 1e6)
    return 2 * k * x * y * side * side / (seconds[1] - seconds[0]) / 1e9


def total_us(program, gpu, kernel, words):
    """Microseconds for 32 million words."""
    clock, rate = parameter(program, gpu, "clock_mhz"), parameter(program, gpu, "dram_sector_cycles")
    changes = [f"clock_mhz={BASE_MHZ[gpu]}", f"dram_sector_cycles={rate * BASE_MHZ[gpu] / clock:.3f}"]
    cycles = []
    blocks = 8192
    for own in (blocks, 2 * blocks):
        cycles.append(simulate(program, gpu, f"buffer in f32 {own * words} random 0 1\nbuffer out f32 {own} zero\n"
                               f"launch {kernel} grid {own} block 256 with in out\n", changes)["cycles"])
    return (cycles[1] - cycles[0]) / BASE_MHZ[gpu] * (32 << 20) / (blocks * words)


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    for gpu, kernel, threads, ld, k, published in PRODUCTS:
        if not wanted or gpu in wanted or kernel in wanted:
            rate = product(program, gpu, kernel, threads, ld, k)
            for own, source in published:
                print(f"{gpu:8} {kernel:18} simulated {rate:8.1f} GFLOP/s  published {own:8.1f}  time {own / rate:.2f}  {source}", flush=True)
    for gpu, kernel, words, own, source in SUMS:
        if not wanted or gpu in wanted or kernel in wanted:
            ours = total_us(program, gpu, kernel, words)
            print(f"{gpu:8} {kernel:18} simulated {ours:8.1f} us       published {own:8.1f}  time {ours / own:.2f}  {source}", flush=True)


if __name__ == "__main__":
    main()
