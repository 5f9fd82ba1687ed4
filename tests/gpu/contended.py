#!/usr/bin/env python3
"""Float atomics of several warps on the same shared words: why an H200 counts more than the warps need alone.

Every warp runs a loop: its waiting lanes read, and WINDOW cycles later the lowest lane of each bank writes its sum, if its
word is still what it was; PERIOD cycles after the read it reads again, DETOUR later if a lane has left the loop. That is
simulated here for every row `many` of tests/data/h200/atomics_copies.csv whose warps share words, and laid beside what was
counted. WINDOW, STAGGER and ATOMIC_CYCLES were chosen on every second row of `fatom`; the other rows, and all of `redf`,
were not looked at. PERIOD and DETOUR are what one, two and four warps on one word take.

Addresses of random rows are drawn anew: the program's own were not kept.
Run as: contended.py [--rows]
"""
import csv
import heapq
import math
import os
import random
import sys

DATA = os.path.join(os.path.dirname(__file__), "../data/h200/atomics_copies.csv")
LANES = BANKS = 32
PERIOD, DETOUR, WINDOW, STAGGER, ATOMIC_CYCLES = 81, 16, 40, 12, 3
BETWEEN = {0: 55, 1: 215}  # cycles from one atomic to the next: fixed addresses, random ones


def lowest_of_banks(lanes, address):
    """The lowest of the lanes in each bank."""
    first = {}
    for lane in lanes:
        first.setdefault(address[lane] % BANKS, lane)
    return set(first.values())


def load_wavefronts(lanes, address):
    words = {}
    for lane in lanes:
        words.setdefault(address[lane] % BANKS, set()).add(address[lane])
    return max(map(len, words.values()))


class Warp:
    def __init__(self, number, repeats, draw):
        self.number, self.left, self.draw = number, repeats, draw
        self.begin()

    def begin(self):
        self.address, self.lanes, self.seen = self.draw(self.number), list(range(LANES)), {}

    def read(self, version):
        self.seen = {self.address[lane]: version.get(self.address[lane], 0) for lane in self.lanes}
        return load_wavefronts(self.lanes, self.address)

    def write(self, version):
        """Whether a lane has won."""
        tried, kept = lowest_of_banks(self.lanes, self.address), []
        for lane in self.lanes:
            word = self.address[lane]
            if lane in tried and self.seen[word] == version.get(word, 0):
                version[word] = version.get(word, 0) + 1
            else:
                kept.append(lane)
        has_won, self.lanes = len(kept) < len(self.lanes), kept
        return has_won


def simulate(warps, repeats, kind, a, b, seed):
    """Load and atomic wavefronts of warps that begin STAGGER cycles after each other."""
    rng, version, pipe, loads, atomics = random.Random(seed), {}, 0, 0, 0

    def draw(warp):
        return [rng.randrange(a) if kind else lane * a + warp * b for lane in range(LANES)]

    all_warps = [Warp(i, repeats, draw) for i in range(warps)]
    events = [(i * STAGGER, i, "read") for i in range(warps)]
    while events:
        now, number, what = heapq.heappop(events)
        warp = all_warps[number]
        if pipe > now:  # one wavefront after the other
            heapq.heappush(events, (pipe, number, what))
        elif what == "read":
            wavefronts = warp.read(version)
            loads, pipe = loads + wavefronts, now + wavefronts
            heapq.heappush(events, (now + WINDOW + 2 * (wavefronts - 1), number, "write"))
        else:
            atomics, pipe = atomics + 2, now + ATOMIC_CYCLES
            later = now + PERIOD - WINDOW + (DETOUR if warp.write(version) else 0)
            if not warp.lanes:
                warp.left -= 1
                if not warp.left:
                    continue
                warp.begin()
                later += BETWEEN[kind]
            heapq.heappush(events, (later, number, "read"))
    return loads, atomics


def alone(warps, repeats, kind, a, b):
    """What the warps count one by one."""
    ones = [sum(simulate(1, repeats, kind, a, b, 100 + i)) for i in range(warps if kind else 1)]
    return sum(ones) * (1 if kind else warps)


def main():
    errors, most = {}, 0.0
    with open(DATA, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "many"]
    for index, row in enumerate(rows):
        warps, repeats, _, kind, a, b = map(int, row["numbers"].split())
        if row["op"] not in ("fatom", "redf") or warps == 1 or (kind == 0 and b):
            continue
        counted = int(row["wavefronts_load"]) + int(row["wavefronts_atomic"])
        modelled, least = sum(simulate(warps, repeats, kind, a, b, 1)), alone(warps, repeats, kind, a, b)
        most = max(most, counted / least / warps)
        half = "redf" if row["op"] == "redf" else ("fatom, looked at", "fatom, not looked at")[index % 2]
        errors.setdefault(half, []).append((abs(math.log(modelled / counted)), abs(math.log(least / counted))))
        if "--rows" in sys.argv:
            print(f"{row['op']} {warps:2} warps x {repeats:2}, kind {kind} {a:4}: counted {counted:6}, "
                  f"alone {least:6}, modelled {modelled:6} ({modelled / counted:.2f})")
    for half, list_of in sorted(errors.items()):
        model, naive = zip(*list_of)
        print(f"{half}: {len(model)} rows, mean error {math.exp(sum(model) / len(model)) - 1:.1%}, worst "
              f"{math.exp(max(model)):.2f} times; warps taken alone: {math.exp(sum(naive) / len(naive)) - 1:.1%}, "
              f"{math.exp(max(naive)):.2f} times")
    print(f"counted / (alone x warps): {most:.2f} at most")


if __name__ == "__main__":
    main()
