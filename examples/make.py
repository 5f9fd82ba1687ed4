#!/usr/bin/env python3
"""Writes the example traces tile.trace and fft512.trace beside this file."""
import os

LANES = 32
FULL = "ffffffff"


def tile(side=32):
    """A float tile that a warp writes row by row and reads column by column."""
    yield f"# A {side}x{side} float tile: each row written by a warp, then each column read by one."
    for row in range(side):
        yield f"st 4 {FULL} stride:1+{row * side} @write-row"
    for column in range(side):
        yield f"ld 4 {FULL} stride:{side}+{column} @read-column"


def bit_reversed(index, bits):
    return int(format(index, f"0{bits}b")[::-1], 2)


def fft(bits):
    """Loads of a radix-2 FFT of 2^bits complex numbers, real and imaginary parts side by side."""
    points = 1 << bits
    yield f"# Radix-2 FFT of {points} complex floats (interleaved): bit-reversed load, then"
    yield f"# {bits} stages in which a lane loads both ends of its butterfly, real and imaginary part."
    for first in range(0, points, LANES):
        for part in (0, 1):
            addresses = [(2 * bit_reversed(first + lane, bits) + part) * 4 for lane in range(LANES)]
            yield f"ld 4 {FULL} {' '.join(map(str, addresses))} @bit-reverse"
    for stage in range(bits):
        half = 1 << stage
        for first in range(0, points // 2, LANES):
            start = first // half * 2 * half + first % half
            for end in (0, half):
                for part in (0, 1):
                    offset = 2 * (start + end) + part
                    shape = f"block:{half},2,{4 * half}" if half < LANES else "stride:2"
                    yield f"ld 4 {FULL} {shape}+{offset} @stage-{stage + 1}"


def write(name, lines):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    write("tile.trace", tile())
    write("fft512.trace", fft(9))
