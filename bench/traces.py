#!/usr/bin/env python3
"""Speed of commands on traces, for several programs in turn: bench/traces.py BANKFOLD... [--accesses N] [--keep FOLDER]

Makes traces in a temporary folder:
  kernels  what twelve benchmarks of the corpus do, in the order in which they do it (bench_in_order), as a tracer on a GPU records it
  data     the same of three benchmarks whose accesses depend on data: sorts and a histogram
  strides  strides of 0 to 63 words at 1024 places with seven sites in turn, at random: shapes repeat, their places do not
  gather   random addresses, lanes: strides of random masks, and holes: random addresses of random masks, which do not repeat
and the strides as NVBit and Accel-Sim write them. Prints for each command and program the least processor time of three runs on
one thread, million accesses a second, and for text megabytes of input a second. Each program reads what it packed itself. Rows
"bound" say what reading the same file (cat), unpacking it, packing its content (both zstd), or finding its lines (wc -l) takes
alone. With --keep FOLDER traces are left there, and those that are there already are taken. bench_in_order is taken from the folder
bench beside the last program that has it. solve reads from cat, whose time is counted too: of a file it would read no more than its limit allows."""
import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile


REPEATING = ["transpose16", "gemm-float4", "matrix-multiply", "fft512", "reduction", "needleman-1", "lud-perimeter", "hotspot", "srad", "gemm-mma",
             "scalar-product", "convolution-rows"]
DEPENDING = ["bitonic-sort", "radix-sort", "histogram256"]
KINDS = ("kernels", "data", "strides", "gather", "lanes", "holes")


def strides(count):
    for _ in range(count):
        stride, base = random.randrange(64), random.randrange(1024)
        yield [4 * (base + lane * stride) for lane in range(32)]


def make(write, path, *how):
    """Writes a trace unless it is there."""
    if not os.path.exists(path):
        write(path + ".part", *how)
        os.replace(path + ".part", path)


def write_own(path, count, kind):
    with open(path, "w") as file:
        for i, address in enumerate(strides(count)):
            mask = random.getrandbits(32) or 1 if kind in ("lanes", "holes") else 0xFFFFFFFF
            if kind in ("gather", "holes"):
                address = [4 * random.randrange(4096) for _ in range(32)]
            active = " ".join(str(a) for lane, a in enumerate(address) if mask >> lane & 1)
            file.write(f"ld 4 {mask:08x} {active} @k{i % 7}\n")


def write_in_order(path, programs, count, benchmarks):
    """The text of what benchmarks do, each as often as the others."""
    recorders = [os.path.join(os.path.dirname(program), "bench", "bench_in_order") for program in programs]
    recorder = [r for r in recorders if os.path.exists(r)][-1:] or sys.exit("bench_in_order is not built: ninja -C build bench")
    subprocess.run([*recorder, path + ".bft", str(count), *benchmarks], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([programs[-1], "convert", path + ".bft", "--text", "--output", path], check=True)
    os.remove(path + ".bft")


def write_nvbit(path, count):
    with open(path, "w") as file:
        for i, address in enumerate(strides(count)):
            file.write(f"MEMTRACE: CTX 0x000055d0 - grid_launch_id 0 - CTA {i % 64},0,0 - warp {i % 8} - LDS.32 - "
                       + " ".join(f"0x{a:016x}" for a in address) + "\n")


def write_accelsim(path, count):
    with open(path, "w") as file:
        file.write("-kernel name = k\n-kernel id = 1\n-grid dim = (64,1,1)\n-block dim = (256,1,1)\n-shmem = 49152\n"
                   "-nregs = 16\n-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"
                   "-local mem base_addr = 0x00007f1000000000\n-nvbit version = 1.5.5\n-accelsim tracer version = 4\n"
                   "-enable lineinfo = 0\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\n" f"insts = {count}\n")
        for address in strides(count):
            listed = " ".join(f"0x{0x7F0000000000 + a:x}" for a in address)
            file.write(f"0010 ffffffff 1 R2 LDS.U 1 R4 4 0 {listed} 0\n")
        file.write("\n#END_TB\n")


def seconds(command):
    """Processor time of a command, least of three runs; None where it fails."""
    least = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = taken if least is None else min(least, taken)
    return least


def bounds(folder, kind):
    """Rows: what is done by other programs to the same files, its input, and the command."""
    packed, text, content = f"{folder}/{kind}.0.bft", f"{folder}/{kind}.trace", f"{folder}/{kind}.content"
    yield f"bound: read {kind}, packed", packed, ["cat", packed]
    if shutil.which("zstd"):
        with open(content, "wb") as file:
            subprocess.run(["zstd", "-dcq", packed], stdout=file, check=True)
        yield f"bound: unpack {kind}", packed, ["zstd", "-dcq", packed]
        yield f"bound: pack {kind}", content, ["zstd", "-qc", "-3", "--single-thread", content]
    yield f"bound: lines of {kind}, text", text, ["wc", "-l", text]


def commands(folder, number, program):
    """Rows: what is done, its input, and the command of the program of that number."""
    out = f"{folder}/out"
    for kind in KINDS:
        packed, text = f"{folder}/{kind}.{number}.bft", f"{folder}/{kind}.trace"
        yield f"check {kind}, packed", packed, [program, "check", packed, "--threads", "1"]
        yield f"check {kind}, text", text, [program, "check", text, "--threads", "1"]
        yield f"classify {kind}, packed", packed, [program, "classify", packed, "--json", "--threads", "1"]
        yield f"solve {kind}, packed", packed, ["sh", "-c", f"cat {packed} | {program} solve - --method padding --threads 1 --time-limit 0.01"]
        yield f"convert {kind}, packed to packed", packed, [program, "convert", packed, "--output", out]
        yield f"convert {kind}, packed to packed --level 3", packed, [program, "convert", packed, "--level", "3", "--output", out]
        yield f"convert {kind}, packed to text", packed, [program, "convert", packed, "--text", "--output", out]
        yield f"convert {kind}, text to packed", text, [program, "convert", text, "--output", out]
    for tool in ("nvbit", "accelsim"):
        trace = f"{folder}/{tool}.trace"
        yield f"check {tool}", trace, [program, "check", trace, "--from", tool, "--threads", "1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="+")
    parser.add_argument("--accesses", type=int, default=400000)
    parser.add_argument("--keep", metavar="FOLDER")
    own = parser.parse_args()
    random.seed(5)
    if own.keep:
        os.makedirs(own.keep, exist_ok=True)
        measure(own, own.keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(own, folder)


def measure(own, folder):
    for kind in KINDS:
        path = f"{folder}/{kind}.trace"
        if kind in ("kernels", "data"):
            make(write_in_order, path, own.program, own.accesses, REPEATING if kind == "kernels" else DEPENDING)
        else:
            make(write_own, path, own.accesses, kind)
        for number, program in enumerate(own.program):
            subprocess.run([program, "convert", path, "--output", f"{folder}/{kind}.{number}.bft"], check=True)
    make(write_nvbit, f"{folder}/nvbit.trace", own.accesses)
    make(write_accelsim, f"{folder}/accelsim.trace", own.accesses)
    print("| command | " + " | ".join(f"{program}: s, M accesses/s" for program in own.program) + " | MB/s of text |")
    print("|---|" + "---|" * (len(own.program) + 1))
    rows = [[row] for kind in KINDS for row in bounds(folder, kind)]
    rows += zip(*(commands(folder, number, program) for number, program in enumerate(own.program)))
    for row in rows:
        what, path = row[-1][:2]
        taken = [seconds(command) for _, _, command in row]
        cells = [f"{t:.3f}, {own.accesses / t / 1e6:.1f}" if t else "-" for t in taken]
        cells += [""] * (len(own.program) - len(cells))
        rate = f"{os.path.getsize(path) / taken[-1] / 1e6:.0f}" if path.endswith(".trace") and taken[-1] else ""
        print(f"| {what} | " + " | ".join(cells) + f" | {rate} |", flush=True)


main()
