#!/usr/bin/env python3
"""What rewriting costs behind ptxas: SASS instructions and registers of every kernel of a PTX file,
before and after, and instructions added per access to shared memory.

  rewrite_cost.py BUILD [--hash HASH] [--arch sm_90] FILE.ptx ...

Needs ptxas. An instruction of sm_70 and later has 16 bytes; its low 12 bits are the opcode and where
operands come from. The codes below were read off binaries of kernels that hold one such
instruction. NOPs, which only fill up the section, do not count.
"""
import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

NOP = 0x918
SHARED = {0x984: "LDS", 0x388: "STS", 0x988: "STS", 0x38C: "ATOMS", 0x38D: "ATOMS", 0x83B: "LDSM",
          0x844: "STSM", 0xFAE: "LDGSTS"}


def sections(cubin):
    """Names and contents of the sections of a 64-bit ELF file."""
    first, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    header = [struct.unpack_from("<IIQQQQIIQQ", cubin, first + i * size) for i in range(count)]
    text = cubin[header[names][4]:header[names][4] + header[names][5]]
    for name, _, _, _, offset, length, *_ in header:
        yield text[name:text.index(b"\0", name)].decode(), cubin[offset:offset + length]


def compile_ptx(ptx, arch, folder):
    """Per kernel: SASS instructions, those on shared memory, registers."""
    cubin = Path(folder) / "out.cubin"
    done = subprocess.run(["ptxas", f"-arch={arch}", "-v", str(ptx), "-o", str(cubin)],
                          capture_output=True, text=True, check=True)
    registers = dict(re.findall(r"Function properties for (\S+)\n.*\n.*Used (\d+) registers",
                                done.stderr))
    kernels = {}
    for name, content in sections(cubin.read_bytes()):
        if not name.startswith(".text."):
            continue
        codes = [struct.unpack_from("<Q", content, i)[0] & 0xFFF for i in range(0, len(content), 16)]
        kernels[name[6:]] = {"instructions": sum(code != NOP for code in codes),
                             "shared": sum(code in SHARED for code in codes),
                             "registers": int(registers.get(name[6:], 0))}
    return kernels


def measure(build, ptx, options, folder):
    """Lines of the table for one file."""
    hashed = Path(folder) / "hashed.ptx"
    command = [f"{build}/bankfold", "rewrite", str(ptx), "--hash", options.hash, "--json",
               "--output", str(hashed), *options.more]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    before = compile_ptx(ptx, options.arch, folder)
    after = compile_ptx(hashed, options.arch, folder)
    for kernel in told["kernels"]:
        if kernel["rewritten"]:
            yield kernel, before[kernel["name"]], after[kernel["name"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("ptx", nargs="+")
    parser.add_argument("--hash", default="fixed")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--more", nargs="*", default=[], help="further options of rewrite")
    options = parser.parse_args()
    print(f"{'PTX':>5} {'added':>6} {'SASS':>11} {'shared':>9} {'registers':>9} {'per access':>10}  kernel")
    sums = [0] * 4
    with tempfile.TemporaryDirectory() as folder:
        for ptx in options.ptx:
            for kernel, a, b in measure(options.build, ptx, options, folder):
                added = b["instructions"] - a["instructions"]
                print(f"{kernel['hashed']:5} {kernel['added_instructions']:6} "
                      f"{a['instructions']:5}->{b['instructions']:<5}{a['shared']:4}->{b['shared']:<4}"
                      f"{a['registers']:4}->{b['registers']:<4} {added / kernel['hashed']:9.2f}  "
                      f"{Path(ptx).stem}:{kernel['name']}")
                for i, one in enumerate((kernel["hashed"], kernel["added_instructions"], added,
                                         b["registers"] - a["registers"])):
                    sums[i] += one
    print(f"{sums[0]} accesses: {sums[1]} PTX and {sums[2]} SASS instructions added "
          f"({sums[2] / max(sums[0], 1):.2f} per access), {sums[3]} registers")


if __name__ == "__main__":
    sys.exit(main())
