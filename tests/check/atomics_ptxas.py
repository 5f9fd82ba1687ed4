#!/usr/bin/env python3
"""What ptxas makes of atomics on shared memory, against what `analyze` of build folder $1 calls them: every operation
of every type, with and without its result, at addresses that differ per lane. Skipped where there is no ptxas.

Instructions on shared memory are told apart as in merge/sass_shared.py; atomics have their operation in bits 87-90 and
their type in bits 73-75."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "merge"))
import sass_shared

# What ptxas makes of each operation of a trace. "loop": what goes before is repeated until it succeeds.
SHAPES = {
    "atom 4": {"ATOMS.ADD 4"},
    "red 4": {"ATOMS.POPC.INC 4"},
    "redv 4": {"ATOMS.ADD 4"},
    "max 4": {"ATOMS.MIN 4", "ATOMS.MAX 4", "ATOMS.AND 4", "ATOMS.OR 4", "ATOMS.XOR 4"},
    "redmax 4": {"ATOMS.MIN 4", "ATOMS.MAX 4", "ATOMS.AND 4", "ATOMS.OR 4", "ATOMS.XOR 4"},
    "inc 4": {"ATOMS.INC 4", "ATOMS.DEC 4"},
    "exch 4": {"ATOMS.EXCH 4"},
    "cas 4": {"ATOMS.CAS 4"},
    "fatom 4": {"LDS 4, ATOMS.CAST.SPIN 4, loop"},
    "redf 4": {"LDS 4, ATOMS.CAST.SPIN 4, loop"},
    "f16x2 4": {"LDS 4, ATOMS.CAST.SPIN 4, loop", "LDS 4, ATOMS.CAS 4, loop"},
    "f64 8": {"LDS 8, ATOMS.CAST.SPIN 8, loop"},
    "add64 8": {"LDS 8, ATOMS.CAST.SPIN 8, loop"},
    "exch64 8": {"ATOMS.EXCH 8"},
    "cas64 8": {"ATOMS.CAS 8"},
    "none": {"ATOMS.EXCH 16", "ATOMS.CAS 16"},
}

OPERATIONS = ["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH"]
ATOMIC_BYTES = {0: 4, 1: 4, 2: 8, 4: 16}
REGISTERS = {"16": ("h", "b16"), "32": ("r", "b32"), "64": ("d", "b64"), "28": ("q", "b128")}

KERNEL = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory) {
.shared .align 16 .b8 shared[1024];
.reg .b16 %h<4>; .reg .b32 %r<4>, %a; .reg .b64 %d<4>, %m; .reg .b128 %q<4>;
ld.param.u64 %m, [memory];
cvta.to.global.u64 %m, %m;
mov.u32 %a, %tid.x;
mov.u32 %r0, shared;
mad.lo.u32 %a, %a, 16, %r0;
{load}
{atomic}
{store}
ret;
}
"""


def forms():
    """(operation, type, value) of every atomic; value "" is a register."""
    for kind in ("u32", "s32"):
        yield from [("add", kind, value) for value in ("", "1", "2")]
    yield from [("add", "u64", ""), ("add", "f32", ""), ("add", "f64", ""), ("inc", "u32", ""), ("dec", "u32", "")]
    yield from [("add.noftz", kind, "") for kind in ("f16", "f16x2", "bf16", "bf16x2")]
    yield from [(operation, kind, "") for operation in ("min", "max") for kind in ("u32", "s32", "u64", "s64")]
    yield from [(operation, kind, "") for operation in ("and", "or", "xor") for kind in ("b32", "b64")]
    yield from [("exch", kind, "") for kind in ("b32", "b64", "b128")]
    yield from [("cas", kind, "") for kind in ("b16", "b32", "b64", "b128")]


def kernel(operation, kind, value, is_used):
    """PTX with one atomic."""
    letter, bits = REGISTERS["32" if kind.endswith("x2") else kind[-2:]]
    load = "".join(f"ld.global.{bits} %{letter}{i}, [%m+{16 * i}];\n" for i in (1, 2))
    value = value or f"%{letter}1"
    swap = f", %{letter}2" if operation == "cas" else ""
    atomic = f"atom.shared.{operation}.{kind} %{letter}3, [%a], {value}{swap};"
    store = f"st.global.{bits} [%m+64], %{letter}3;" if is_used else ""
    return KERNEL.replace("{load}", load).replace("{atomic}", atomic).replace("{store}", store)


def shape(code):
    """The shared accesses of a kernel, as in SHAPES."""
    found, branches = [], 0
    for i in range(0, len(code), 16):
        word = int.from_bytes(code[i:i + 16], "little")
        opcode, operation, size = word & 0xFFF, word >> 87 & 15, word >> 73 & 7
        branches += opcode == 0x947 and word >> 12 & 15 != 7
        if opcode in sass_shared.LOAD:
            found.append(f"LDS {sass_shared.BYTES[size]}")
        elif opcode == 0x38D:
            found.append(f"ATOMS.{'CAST.SPIN' if operation == 3 else 'CAS'} {ATOMIC_BYTES[size]}")
        elif opcode == 0x38C:
            found.append(f"ATOMS.{OPERATIONS[operation]} {ATOMIC_BYTES[size]}")
        elif opcode == 0xF8C:
            found.append(f"ATOMS.POPC.INC {ATOMIC_BYTES[size]}")
    return ", ".join(found + ["loop"] * (branches > 0 and len(found) > 1))


def called(program, path):
    """What analyze calls the only shared access of a kernel."""
    answer = subprocess.run([program, "analyze", path, "--block", "32", "--json"], check=True, capture_output=True)
    site, = json.loads(answer.stdout)["kernels"][0]["sites"]
    return f"{site['op']} {site['width']}" if site["op"] else "none"


def main():
    os.environ["PATH"] += ":/usr/local/cuda/bin"
    if subprocess.run(["sh", "-c", "command -v ptxas"], stdout=subprocess.DEVNULL).returncode:
        print("no ptxas")
        sys.exit(77)
    program = os.path.join(sys.argv[1], "bankfold")
    faults, seen = 0, set()
    with tempfile.TemporaryDirectory() as work:
        ptx, cubin = os.path.join(work, "a.ptx"), os.path.join(work, "a.cubin")
        for operation, kind, value in forms():
            for is_used in (True, False):
                pathlib.Path(ptx).write_text(kernel(operation, kind, value, is_used))
                subprocess.run(["ptxas", "-w", "-arch=sm_90", ptx, "-o", cubin], check=True)
                sections = dict(sass_shared.sections(pathlib.Path(cubin).read_bytes()))
                name, found = called(program, ptx), shape(sections[".text.k"])
                seen.add((name, found))
                if found not in SHAPES.get(name, ()):
                    print(f"{operation}.{kind} {value} {'used' if is_used else 'unused'}: {name}, but ptxas: {found}")
                    faults += 1
    for name, shapes in SHAPES.items():
        for found in shapes:
            if (name, found) not in seen:
                print(f"nothing is called {name} and becomes {found}")
                faults += 1
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
