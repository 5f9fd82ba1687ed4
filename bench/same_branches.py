#!/usr/bin/env python3
"""What ptxas makes of loops that skip something by a condition from outside, unrolled 2, 4 and 8 times.

    bench/same_branches.py

Compiles three kernels with nvcc for sm_90 and prints the order of loads, stores and branches in their machine code
(an instruction has 16 bytes, its opcode is in the lowest 12 bits). Where two loads stand behind one branch, two rounds
have become one block of code: the first two, and no others."""
import os
import struct
import subprocess
import sys
import tempfile

SOURCE = """
#define KERNEL(NAME, BODY) extern "C" __global__ void NAME(unsigned *out, const unsigned *in, unsigned n, unsigned p, unsigned q) { \\
  extern __shared__ unsigned tile[]; float sum = 0; unsigned x = threadIdx.x; \\
  _Pragma("unroll ROUNDS") for (unsigned row = 0; row < q; row++) if (x < n) { BODY; } \\
  __syncthreads(); out[x] = sum + tile[x ^ q]; }
KERNEL(to_shared, tile[row * p + x] = in[row * n + x])
KERNEL(to_sum, sum = sum * 0.5f + in[row * n + x])
KERNEL(to_global, out[row * p + x] = in[row * n + x] * 3)
"""
NAMES = {0x981: "LDG", 0x388: "STS", 0x986: "STG", 0x947: "BRA", 0x945: "BSSY", 0x941: "BSYNC", 0xB1D: "BAR", 0x94D: "EXIT"}


def sections(cubin):
    """The code of each kernel: name, bytes."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    heads = [struct.unpack_from("<IIQQQQ", cubin, start + 64 * i) for i in range(count)]
    for head in heads:
        name = cubin[heads[names][4] + head[0]:].split(b"\0")[0].decode()
        if name.startswith(".text."):
            yield name[6:], cubin[head[4]:head[4] + head[5]]


def order(code):
    """The instructions of interest, up to the barrier, guarded ones with their predicate."""
    found = []
    for at in range(0, len(code), 16):
        word, = struct.unpack_from("<Q", code, at)
        name, guard = NAMES.get(word & 0xFFF), word >> 12 & 15
        if name == "BAR":
            break
        if name:
            found.append(name if guard == 7 else f"@{'!' if guard & 8 else ''}P{guard & 7} {name}")
    return found


def main():
    with tempfile.TemporaryDirectory() as work:
        source, cubin = os.path.join(work, "k.cu"), os.path.join(work, "k.cubin")
        for rounds in 2, 4, 8:
            with open(source, "w", encoding="utf-8") as file:
                file.write(SOURCE.replace("ROUNDS", str(rounds)))
            subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-o", cubin, source], check=True)
            with open(cubin, "rb") as file:
                for name, code in sections(file.read()):
                    print(f"{rounds} rounds, {name}: {'; '.join(order(code))}")


if __name__ == "__main__":
    sys.exit(main())
