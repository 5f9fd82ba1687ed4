#!/usr/bin/env python3
"""hist counts what a few lines of Python count, on random images: hist_reference.py BUILD.

Images of every kind are written here, PNG without libpng, and masks, regions, weights, bins and ranges
are chosen at random; the seed is fixed.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "bankfold")
ROUNDS = 120


class Image:
    """Samples by pixel: rows of tuples, with a largest value."""

    def __init__(self, chance, width, height, channels, most):
        self.width, self.height, self.channels, self.most = width, height, channels, most
        kind = chance.randrange(3)
        value = [lambda: chance.randrange(most + 1), lambda: most // 3,
                 lambda: min(most, int(abs(chance.gauss(most / 2, most / 9))))][kind]
        self.rows = [[tuple(value() for _ in range(channels)) for _ in range(width)] for _ in range(height)]

    def samples(self):
        return [[sample for pixel in row for sample in pixel] for row in self.rows]


def packed(samples, most):
    """Samples as bytes, the high one first."""
    return struct.pack(f">{len(samples)}{'H' if most > 255 else 'B'}", *samples)


def pnm(image, plain):
    magic = {(1, False): 5, (3, False): 6, (1, True): 2, (3, True): 3}[image.channels, plain]
    head = f"P{magic}\n{image.width} {image.height}\n{image.most}\n".encode()
    if plain:
        return head + "\n".join(" ".join(map(str, row)) for row in image.samples()).encode()
    return head + b"".join(packed(row, image.most) for row in image.samples())


def paeth(a, b, c):
    distance = [abs(b - c), abs(a - c), abs(a + b - 2 * c)]
    return (a, b, c)[distance.index(min(distance))]


def filtered(kind, row, above, step):
    """A row of bytes under one of PNG's five filters."""
    result = bytearray([kind])
    for i, byte in enumerate(row):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        guess = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
        result.append((byte - guess) & 255)
    return bytes(result)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(image, chance):
    depth = 16 if image.most > 255 else 8
    step = image.channels * depth // 8
    above, data = bytes(image.width * step), b""
    for samples in image.samples():
        row = packed(samples, image.most)
        data += filtered(chance.randrange(5), row, above, step)
        above = row
    data = zlib.compress(data)
    cut = chance.randrange(len(data) + 1)
    head = struct.pack(">IIBBBBB", image.width, image.height, depth, (0, 4, 2, 6)[image.channels - 1], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data[:cut]) +
            chunk(b"IDAT", data[cut:]) + chunk(b"IEND", b""))


def write(image, chance, path):
    is_png = image.most in (255, 65535) and (image.channels % 2 == 0 or chance.randrange(2))
    with open(path, "wb") as file:
        file.write(png(image, chance) if is_png else pnm(image, chance.randrange(2)))


def random_image(chance, width, height, channels=None):
    channels = channels or chance.randrange(1, 5)
    most = chance.choice([255, 65535] if channels % 2 == 0 else [1, 100, 255, 1000, 4095, 65535])
    return Image(chance, width, height, channels, most)


def expected(image, channel, region, mask, weights):
    """Pairs of value and weight."""
    x, y, width, height = region
    return [(image.rows[j][i][channel], weights.rows[j][i][0] if weights else 1)
            for j in range(y, y + height) for i in range(x, x + width)
            if not mask or mask.rows[j][i][0]]


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-8, abs_tol=1e-8)


def check_channel(found, votes, bins, low, high, weighted):
    counts, total = [0] * bins, sum(weight for _, weight in votes)
    for value, weight in votes:
        if low <= value < high:
            counts[min((value - low) * bins // (high - low), bins - 1)] += weight
    assert found["counts"] == counts, (found["counts"], counts)
    assert found["total"] == total and found["outside"] == total - sum(counts)
    heavy = [(value, weight) for value, weight in votes if weight]
    if not heavy:
        assert found["min"] is None and found["mean"] is None
        return
    mean = sum(value * weight for value, weight in heavy) / total
    variance = sum(weight * (value - mean) ** 2 for value, weight in heavy) / total
    assert found["min"] == min(heavy)[0] and found["max"] == max(heavy)[0]
    assert close(found["mean"], mean) and close(found["deviation"], math.sqrt(variance))
    assert (found["otsu"] is None) == weighted


def one_round(chance, folder):
    width, height = chance.randrange(1, 40), chance.randrange(1, 30)
    image = random_image(chance, width, height)
    paths = [os.path.join(folder, name) for name in ("image", "mask", "weights")]
    write(image, chance, paths[0])
    bins, low = chance.choice([1, 2, 7, 64, 256, 1000]), chance.randrange(-5, image.most)
    high = low + chance.randrange(1, image.most + 9)
    line = [PROGRAM, "hist", paths[0], "--json", "--bins", str(bins), "--range", f"{low}:{high}",
            "--threads", str(chance.randrange(1, 4))]
    region, mask, weights = (0, 0, width, height), None, None
    if chance.randrange(2):
        x, y = chance.randrange(width), chance.randrange(height)
        region = (x, y, chance.randrange(width - x + 1), chance.randrange(height - y + 1))
        line += ["--roi", ",".join(map(str, region))]
    if chance.randrange(2):
        mask = Image(chance, width, height, 1, 1)
        write(mask, chance, paths[1])
        line += ["--mask", paths[1]]
    if chance.randrange(3) == 0:
        weights = random_image(chance, width, height, 1)
        write(weights, chance, paths[2])
        line += ["--weights", paths[2]]
    found = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
    assert len(found["channels"]) == image.channels
    for number, channel in enumerate(found["channels"]):
        votes = expected(image, number, region, mask, weights)
        check_channel(channel, votes, bins, low, high, weights is not None)


def main():
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            try:
                one_round(chance, folder)
            except (AssertionError, subprocess.CalledProcessError) as fault:
                print(f"round {number}: {fault!r}")
                return 1
    return 0


sys.exit(main())
