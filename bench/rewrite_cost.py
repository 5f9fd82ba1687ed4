#!/usr/bin/env python3
"""What rewriting costs behind ptxas: SASS instructions and registers of every kernel of a PTX file,
before and after, and instructions added per access to shared memory.

  rewrite_cost.py BUILD [--hash HASH] [--arch sm_90] [--brief] FILE.ptx|FILE.cu ...
  rewrite_cost.py --forms

Without --hash it does so three times: with a hash for all arrays of all kernels, whether they conflict or not; with what
`auto`, the default of the product, rewrites; and with what it does in `bankfold run`, where launches are looked at; the
summary says of each what it is, over all kernels and over both halves (speed_table.half, by file and kernel). The other form prints what ptxas makes of different ways to write the same hash. Needs ptxas, and nvcc
for CUDA sources; bench/cost has some in the style of textbooks and of CUB. An instruction of sm_70 and
later has 16 bytes; its low 12 bits are the opcode and where operands come from. The codes below were
read off binaries of kernels that hold one such instruction. NOPs, which only fill up the section, do
not count.
"""
import argparse
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from speed_table import half

NOP = 0x918
SHARED = {0x984: "LDS", 0x388: "STS", 0x988: "STS", 0x38C: "ATOMS", 0x38D: "ATOMS", 0x83B: "LDSM",
          0x844: "STSM", 0xFAE: "LDGSTS"}


HEAD = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.shared .align 128 .b8 tile[16384];
.reg .b32 %r<8>, %a, %p, %t, %u; .reg .b64 %rd<4>, %w, %q, %v; .reg .pred %is;
ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.lo.u32 %r3, %r2, %r1;
shl.b32 %r3, %r3, 2; mov.u32 %r4, tile; add.u32 %a, %r4, %r3; cvt.u64.u32 %w, %a;
st.shared.u32 [%r4], %r2; bar.sync 0;
"""
TAIL = """
mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5; ret;
}
"""
LOAD = " ld.shared.u32 %r5, [%p];"
TERM = "shr.u32 %t, %a, 5; and.b32 %t, %t, 124; xor.b32 %p, %a, %t;"
GENERIC = "cvta.shared.u64 %v, %w; "
FORMS = (
    ("no hash", "ld.shared.u32 %r5, [%a];"),
    ("shr and xor", TERM + LOAD),
    ("shr lop3", "shr.u32 %t, %a, 5; lop3.b32 %p, %t, 124, %a, 0x6a;" + LOAD),
    ("and shr xor", "and.b32 %t, %a, 3968; shr.u32 %t, %t, 5; xor.b32 %p, %a, %t;" + LOAD),
    ("bfe shl xor", "bfe.u32 %t, %a, 7, 5; shl.b32 %t, %t, 2; xor.b32 %p, %a, %t;" + LOAD),
    ("bfe bfi xor", "bfe.u32 %t, %a, 7, 5; bfi.b32 %t, %t, 0, 2, 5; xor.b32 %p, %a, %t;" + LOAD),
    ("two terms, one after the other", TERM + " shr.u32 %t, %a, 9; and.b32 %t, %t, 24; "
     "xor.b32 %p, %p, %t;" + LOAD),
    ("two terms, together first", "shr.u32 %t, %a, 5; and.b32 %t, %t, 124; shr.u32 %u, %a, 9; "
     "and.b32 %u, %u, 24; xor.b32 %t, %t, %u; xor.b32 %p, %a, %t;" + LOAD),
    ("offset 128, which the hash reads", "add.u32 %u, %a, 128; shr.u32 %t, %u, 5; "
     "and.b32 %t, %t, 124; xor.b32 %p, %u, %t;" + LOAD),
    ("offset 4096, which it does not", TERM + " ld.shared.u32 %r5, [%p+4096];"),
    ("64-bit address", "shr.u64 %q, %w, 5; and.b64 %q, %q, 124; xor.b64 %q, %w, %q; "
     "ld.shared.u32 %r5, [%q];"),
    ("generic address, no hash", GENERIC + "ld.u32 %r5, [%v];"),
    ("generic address", GENERIC + "isspacep.shared %is, %v; cvta.to.shared.u64 %w, %v; "
     "shr.u64 %q, %w, 5; and.b64 %q, %q, 124; xor.b64 %q, %w, %q; cvta.shared.u64 %q, %q; "
     "selp.b64 %q, %q, %v, %is; ld.u32 %r5, [%q];"),
)


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


def compile_cuda(source, arch, folder):
    """The PTX that nvcc makes of a CUDA source; its path."""
    ptx = Path(folder) / (Path(source).stem + ".ptx")
    subprocess.run(["nvcc", f"-arch={arch}", "-ptx", "-O3", str(source), "-o", str(ptx)], check=True)
    return ptx


# `fixed`, and what comes nearest where 8 and 16 bytes stay together.
BY_GRANULE = {4: "fixed", 8: "xor:0,4,30", 16: "xor:0,3,28"}


def rewrite(build, ptx, arguments, hashed):
    """What `bankfold rewrite` says of the kernels of a file."""
    command = [f"{build}/bankfold", "rewrite", str(ptx), "--json", "--output", str(hashed),
               "--dynamic-rounded", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def choose_hashes(build, ptx, folder):
    """Options that give every kernel the hash of its granule."""
    told = rewrite(build, ptx, ["--hash", "fixed"], Path(folder) / "none.ptx")
    listed = Path(folder) / "hashes.txt"
    listed.write_text("".join(f"{kernel['name']} {BY_GRANULE[max(kernel['granule_bytes'], 4)]}\n"
                              for kernel in told["kernels"] if kernel["accesses"]))
    return ["--hash-file", str(listed)]


def measure(options, chosen, source, folder):
    """Kernels of one file with their code before and after, None where they are left alone; and classes of what was
    added."""
    hashed = Path(folder) / "hashed.ptx"
    ptx = compile_cuda(source, options.arch, folder) if source.endswith(".cu") else source
    arguments = (choose_hashes(options.build, ptx, folder) if chosen == "granule" else
                 ["--hash", "auto", "--launches-checked"] if chosen == "run" else ["--hash", chosen])
    told = rewrite(options.build, ptx, arguments, hashed)
    before = compile_ptx(ptx, options.arch, folder)
    after = compile_ptx(hashed, options.arch, folder)
    rows = [(kernel, before[kernel["name"]], after[kernel["name"]] if kernel["rewritten"] else None)
            for kernel in told["kernels"] if kernel["accesses"]]
    return rows, classify(hashed)


# What lines that are added in front of accesses are for; the first pattern that fits.
CLASSES = (
    ("hash of an address: shift", r"shr\.u\d+ \t%bf_term"),
    ("hash of an address: AND and XOR, one LOP3", r"xor\.b\d+ \t%bf_place\S*, \S+, %bf_term|lop3"),
    ("hash of an address: mask and product", r"mul\.hi\.u32 \t%bf_term|and\.b32 \t%bf_term, (?!%bf_term)"),
    ("offset of whole rows: shift, once for an address", r"shr\.u\d+ \t%bf_place"),
    ("offset of whole rows: sum", r"add\.s\d+ \t%bf_term"),
    ("offset to bits that are known: XOR", r"xor\.b\d+ \t%bf_place"),
    ("another array at the same subscript: sum, in the access", r"(add\.s32 \t%bf_place\d+, %bf_place\d+|(mov\.u32|sub\.s32) \t)"
     r"?[^;]*%bf_distance"),
    ("other offset: sum", r"(add\.s\d+|mov\.u32) \t%bf_(logical|place)"),
    ("generic address", r"(isspacep\.shared|cvta\S*|selp\.b\d+) \t%bf_"),
)


def classify(hashed):
    """How many instructions of each class were added to a rewritten file."""
    counts = dict.fromkeys((name for name, _ in CLASSES), 0)
    for line in Path(hashed).read_text().splitlines():
        for name, pattern in CLASSES:
            if re.match(r"\s*(" + pattern + ")", line):
                counts[name] += 1
                break
    return counts


def percentile(numbers, percent):
    """The smallest number that so many percent of all do not exceed."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def print_growth(what, growth, registers):
    """One line of the summary."""
    if growth:
        print(f"{what}: {len(growth)} kernels, code grows by {percentile(growth, 50):.1f}% at the median, "
              f"{percentile(growth, 95):.1f}% at the 95th percentile, {max(growth):.1f}% at most; registers by "
              f"{percentile(registers, 50)}, {percentile(registers, 95)}, {max(registers)}")


def print_summary(what, everything, classes):
    """How code and registers grow over all kernels."""
    rows = [row for row in everything if row[2]]
    accesses = sum(kernel["hashed"] for kernel, _, _ in rows)
    ptx = sum(kernel["added_instructions"] for kernel, _, _ in rows)
    sass = sum(b["instructions"] - a["instructions"] for _, a, b in rows)
    registers = [b["registers"] - a["registers"] for _, a, b in rows]
    growth = [100 * (b["instructions"] / a["instructions"] - 1) for _, a, b in rows]
    print(f"\n{what}\n{accesses} accesses: {ptx} PTX and {sass} SASS instructions added "
          f"({sass / max(accesses, 1):.2f} per access), {sum(registers)} registers")
    print_growth("kernels that are rewritten", growth, registers)
    for own in "AB":
        chosen = [i for i, row in enumerate(rows) if row[0]["half"] == own]
        if chosen:
            print_growth(f"half {own} of these", [growth[i] for i in chosen],
                         [registers[i] for i in chosen])
    left = len(everything) - len(rows)
    print_growth("all kernels, those that are left alone too", growth + [0.0] * left,
                 registers + [0] * left)
    total = max(sum(classes.values()), 1)
    for name, count in classes.items():
        if count:
            print(f"{100 * count / total:5.1f}%  {name}")


def print_forms(arch):
    """Instructions of a kernel with one load, for every form of its address."""
    with tempfile.TemporaryDirectory() as folder:
        for name, form in FORMS:
            ptx = Path(folder) / "form.ptx"
            ptx.write_text(HEAD + form + TAIL)
            print(f"{compile_ptx(ptx, arch, folder)['k']['instructions']:3}  {name}")


def print_row(source, kernel, a, b):
    """One line of the table."""
    added = b["instructions"] - a["instructions"]
    print(f"{kernel['hashed']:5} {kernel['added_instructions']:6} "
          f"{a['instructions']:5}->{b['instructions']:<5}"
          f"{100 * added / a['instructions']:6.1f}% {a['shared']:4}->{b['shared']:<4}"
          f"{a['registers']:4}->{b['registers']:<4} {added / max(kernel['hashed'], 1):9.2f}  "
          f"{Path(source).stem}:{kernel['name']}")


def print_table(options, what, chosen, folder):
    """All files with one way to choose hashes."""
    everything, classes = [], {name: 0 for name, _ in CLASSES}
    if not options.brief:
        print(f"{'PTX':>5} {'added':>6} {'SASS':>11} {'growth':>7} {'shared':>9} {'registers':>9} "
              f"{'per access':>10}  kernel")
    for source in options.ptx:
        rows, counts = measure(options, chosen, source, folder)
        for kernel, a, b in rows:
            kernel["half"] = half(f"{Path(source).stem}:{kernel['name']}")
            if b and not options.brief:
                print_row(source, kernel, a, b)
        everything += rows
        for name, count in counts.items():
            classes[name] += count
    print_summary(what, everything, classes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("ptx", nargs="*")
    parser.add_argument("--forms", action="store_true")
    parser.add_argument("--brief", action="store_true", help="no lines for single kernels")
    parser.add_argument("--hash", help="this one; granule: one that keeps each kernel's widest access "
                        "together, for all arrays; auto: what the product chooses; run: what it does where launches are looked at "
                        "(default: all of these)")
    parser.add_argument("--arch", default="sm_90")
    options = parser.parse_intermixed_args()
    if options.forms:
        return print_forms(options.arch)
    if not options.ptx:
        parser.error("which PTX files?")
    ways = ([(f"HASH {options.hash}", options.hash)] if options.hash else
            [("EVERYTHING HASHED, whether it conflicts or not", "granule"),
             ("AUTO, the default: what wins by its prediction", "auto"),
             ("AUTO IN RUN: what wins by its prediction in some launch", "run")])
    with tempfile.TemporaryDirectory() as folder:
        for what, chosen in ways:
            print_table(options, what, chosen, folder)


if __name__ == "__main__":
    sys.exit(main())
