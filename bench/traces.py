#!/usr/bin/env python3
"""Speed of commands on traces, for several programs in turn: bench/traces.py BANKFOLD... [--accesses N] [--keep FOLDER]

Makes traces in a temporary folder: strides (shapes that repeat), gathers (addresses that do not), some lanes (masks that do
not), and the same strides as NVBit and Accel-Sim write them. Prints for each command and program the least processor time of
three runs on one thread, million accesses a second, and for text megabytes of input a second. Each program reads what it packed
itself. Rows "zstd" say what unpacking the same file takes alone, where that tool is installed. With --keep FOLDER traces are left
there, and those that are there already are taken."""
import argparse
import os
import random
import resource
import shutil
import subprocess
import tempfile


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
            mask = random.getrandbits(32) or 1 if kind == "lanes" else 0xFFFFFFFF
            if kind == "gather":
                address = [4 * random.randrange(4096) for _ in range(32)]
            active = " ".join(str(a) for lane, a in enumerate(address) if mask >> lane & 1)
            file.write(f"ld 4 {mask:08x} {active} @k{i % 7}\n")


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


def commands(folder, number, program):
    """Rows: what is done, its input, and the command of the program of that number."""
    out = f"{folder}/out"
    for kind in ("strides", "gather", "lanes"):
        packed, text = f"{folder}/{kind}.{number}.bft", f"{folder}/{kind}.trace"
        if shutil.which("zstd"):
            yield f"zstd {kind}, packed", packed, ["zstd", "-dcq", packed]
        yield f"check {kind}, packed", packed, [program, "check", packed, "--threads", "1"]
        yield f"check {kind}, text", text, [program, "check", text, "--threads", "1"]
        yield f"classify {kind}, packed", packed, [program, "classify", packed, "--json"]
        yield f"solve {kind}, packed", packed, [program, "solve", packed, "--method", "padding", "--threads", "1", "--time-limit", "0.01"]
        yield f"convert {kind}, packed to packed", packed, [program, "convert", packed, "--output", out]
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
    for kind in ("strides", "gather", "lanes"):
        make(write_own, f"{folder}/{kind}.trace", own.accesses, kind)
        for number, program in enumerate(own.program):
            subprocess.run([program, "convert", f"{folder}/{kind}.trace", "--output", f"{folder}/{kind}.{number}.bft"],
                           check=True)
    make(write_nvbit, f"{folder}/nvbit.trace", own.accesses)
    make(write_accelsim, f"{folder}/accelsim.trace", own.accesses)
    print("| command | " + " | ".join(f"{program}: s, M accesses/s" for program in own.program) + " | MB/s of text |")
    print("|---|" + "---|" * (len(own.program) + 1))
    for rows in zip(*(commands(folder, number, program) for number, program in enumerate(own.program))):
        what, path = rows[-1][:2]
        taken = [seconds(command) for _, _, command in rows]
        cells = [f"{t:.3f}, {own.accesses / t / 1e6:.1f}" if t else "-" for t in taken]
        rate = f"{os.path.getsize(path) / taken[-1] / 1e6:.0f}" if path.endswith(".trace") and taken[-1] else ""
        print(f"| {what} | " + " | ".join(cells) + f" | {rate} |", flush=True)


main()
