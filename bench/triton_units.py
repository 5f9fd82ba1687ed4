#!/usr/bin/env python3
"""Triton's kernels of triton_library.py and triton_kernels.py, once each: writes their PTX into a folder and prints warps,
shared memory, registers and microseconds. Under ncu it shows how busy the units are that src/tune/work.c counts:

    python3 bench/triton_units.py FOLDER
    ncu --csv --page raw --metrics smsp__inst_executed.sum,sm__inst_executed_pipe_alu.sum,\\
        l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,sm__cycles_elapsed.max python3 bench/triton_units.py FOLDER --once
"""
import os
import sys

import torch
import triton_kernels
import triton_library

LAUNCHES = 20


def microseconds(launch):
    """The mean time of a launch."""
    launch()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / LAUNCHES * 1000


def main():
    folder, once = sys.argv[1], "--once" in sys.argv
    os.makedirs(folder, exist_ok=True)
    for module in (triton_library, triton_kernels):
        for name, case in module.cases().items():
            kernel = case[0]()
            torch.cuda.synchronize()
            with open(os.path.join(folder, name + ".ptx"), "w", encoding="utf-8") as file:
                file.write(kernel.asm["ptx"])
            time = "" if once else f" {microseconds(case[0]):.1f} us"
            print(f"{name}: {kernel.metadata.num_warps} warps, {kernel.metadata.shared} bytes, {kernel.n_regs} registers{time}", flush=True)


if __name__ == "__main__":
    main()
