#!/usr/bin/env python3
"""Counts the shared loads and stores in the kernels of cubin files, by width.

    sass_shared.py CUBIN...      one line a kernel: name load4=2 load16=1 store8=3 ...
    sass_shared.py --list CUBIN  every shared access, in order

Instructions of sm_70 to sm_90 have 128 bits; bits 0-11 are the opcode, 12-15 the guard (7: none,
15: never executed), 24-31 the address register, 40-63 the offset, 73-75 the type. Found by assembling
accesses of known width.
"""
import struct
import sys

LOAD, STORE = {0x984}, {0x388, 0x988}
OTHER = {0x83B: "matrix", 0x38C: "atomic", 0x38D: "cas", 0xB1D: "barrier", 0x947: "branch"}
BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}


def sections(data):
    """Names and contents of the sections of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    for name, kind, _, _, start, size, *_ in headers:
        at = headers[names][4] + name
        if kind != 8:
            yield data[at:data.index(b"\0", at)].decode(), data[start:start + size]


def accesses(code):
    """(kind, bytes, address register, offset, guarded) of each access."""
    for i in range(0, len(code), 16):
        word = int.from_bytes(code[i:i + 16], "little")
        opcode, guard = word & 0xFFF, word >> 12 & 15
        offset = word >> 40 & 0xFFFFFF
        offset -= offset >> 23 << 24
        kind = "load" if opcode in LOAD else "store" if opcode in STORE else OTHER.get(opcode)
        if kind and guard != 15:
            size = BYTES[word >> 73 & 7] if kind in ("load", "store") else 0
            yield kind, size, word >> 24 & 255, offset, guard != 7


def counts(code):
    """The counts as text."""
    total = {}
    for kind, size, *_ in accesses(code):
        if size:
            total[kind, size] = total.get((kind, size), 0) + 1
    return " ".join(f"{kind}{size}={n}" for (kind, size), n in sorted(total.items()))


def main():
    listing = sys.argv[1:2] == ["--list"]
    for path in sys.argv[1 + listing:]:
        with open(path, "rb") as file:
            data = file.read()
        for name, code in sorted(sections(data)):
            if not name.startswith(".text."):
                continue
            if listing:
                print(name[6:])
                for kind, size, register, offset, guarded in accesses(code):
                    print(f"  {'@' if guarded else ' '} {kind}{size or ''} R{register}{offset:+}")
            else:
                print(f"{name[6:]} {counts(code)}".rstrip())


if __name__ == "__main__":
    main()
