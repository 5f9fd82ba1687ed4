#!/usr/bin/env python3
"""Rows of times before and after, for bench/never_slower.py and bench/triton_kernels.py: which half a program belongs
to, the tables, and the sums. A file of rows is a JSON object:

    {"rows": [{"program": "strangers/sorts", "kernel": "bitonic 4096x512", "conflicts": 0.4, "launches": 20,
               "times_ns": {"plain": [...], "run": [...]}, "said": {"run": "fixed"}}],
     "programs": [{"program": "strangers/sorts", "wall_s": {"plain": [...]}, "calls_ns": {"plain": [{"bitonic": ...}]},
                   "faults": {"run": "..."}}]}

Times have an entry for each round; `calls_ns` is what a program measures itself; `conflicts` is the share of a kernel's wavefronts that are conflicts, or null where it
is not known."""
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
import zlib

LEAST_NS = 20_000  # shorter launches are not judged: the way from host to GPU is a good part of them
MOST_LOSS = 0.02
LEAST_SHARE = 0.01  # of the wavefronts: from here on a kernel has conflicts


def half(program):
    """A: rules may be fitted to this program. B: they are judged by it. The name decides, and nobody chooses."""
    return "AB"[zlib.crc32(program.encode()) & 1]


def middle(row, mode):
    return statistics.median(row["times_ns"][mode])


def spread(times):
    """The span of the rounds, as a part of their median; of one round nothing is known."""
    return (max(times) - min(times)) / statistics.median(times) if len(times) > 1 else math.inf


def noise(row, mode):
    """That of both, the larger."""
    return max(spread(row["times_ns"]["plain"]), spread(row["times_ns"][mode]))


def show_noise(share):
    return "?" if math.isinf(share) else f"{share:.1%}"


def is_judged(row, mode):
    """Whether it is long enough, and was launched more than once: a first launch does more than that."""
    return (row["times_ns"].get("plain") and row["times_ns"].get(mode) and middle(row, "plain") >= LEAST_NS
            and row["launches"] != 1)


def gain(row, mode):
    return middle(row, "plain") / middle(row, mode)


def mean(numbers):
    """The geometric mean, and of how many numbers."""
    if not numbers:
        return "-"
    return f"{math.exp(sum(map(math.log, numbers)) / len(numbers)):.3f} ({len(numbers)})"


def has_conflicts(row):
    return (row.get("conflicts") or 0) >= LEAST_SHARE


def readable(rows):
    """Kernels -> their names as in C++, without what CUB puts around its own, cut to 60 characters; then the launch."""
    kernels = sorted({row["kernel"] for row in rows})
    names = [kernel.split(" ")[0] for kernel in kernels]
    filter_path = shutil.which("c++filt") or shutil.which("cu++filt")
    if filter_path:
        told = subprocess.run([filter_path, "-p"], input="\n".join(names) + "\n", capture_output=True, text=True, check=False)
        names = told.stdout.split("\n") if told.returncode == 0 else names
    shown = [re.sub(r"\b(cub::CUB_\w+|detail|cub)::", "", name) for name in names]
    return {kernel: " ".join([name[:60], *kernel.split(" ")[1:]]) for kernel, name in zip(kernels, shown)}


def print_kernels(rows, mode):
    """A line for each kernel that is judged, by program."""
    print(f"\n| half | program | kernel | launches | conflicts | before, us | {mode}, us | speed-up | noise | hash |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---|")
    names = readable(rows)
    for row in sorted((r for r in rows if is_judged(r, mode)), key=lambda r: (half(r["program"]), r["program"])):
        share = row.get("conflicts")
        print(f"| {half(row['program'])} | {row['program']} | {names[row['kernel']]} | {row['launches']} | "
              f"{'?' if share is None else format(share, '.0%')} | {middle(row, 'plain') / 1e3:.1f} | "
              f"{middle(row, mode) / 1e3:.1f} | {gain(row, mode):.3f} | "
              f"{show_noise(noise(row, mode))} | {row.get('said', {}).get(mode, '')[:60]} |")


def totals(program, mode):
    """For each round, what the calls of a program that take 20 us or more as it is take together, as it measured them."""
    calls = program.get("calls_ns", {})
    if not calls.get("plain") or not calls.get(mode):
        return []
    long_ones = [name for name in calls["plain"][0]
                 if statistics.median(one[name] for one in calls["plain"]) >= LEAST_NS]
    return [sum(one[name] for name in long_ones) for one in calls[mode]] if long_ones else []


def program_times(rows, program, mode):
    """Before, after and noise of a program: of its own times, or else of its kernels that are judged. None: neither."""
    before, after = totals(program, "plain"), totals(program, mode)
    if before and after:
        return statistics.median(before), statistics.median(after), max(spread(before), spread(after))
    own = [row for row in rows if row["program"] == program["program"] and is_judged(row, mode)]
    if not own:
        return None
    return (sum(middle(row, "plain") for row in own), sum(middle(row, mode) for row in own),
            max(noise(row, mode) for row in own))


def print_programs(rows, programs, mode):
    """A line for each program: one launch of all that takes 20 us or more, and whether it does what it did."""
    print(f"\n| half | program | before, us | {mode}, us | speed-up | noise | wall before, s | wall, s | result |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|")
    for program in sorted(programs, key=lambda p: (half(p["program"]), p["program"])):
        name, walls = program["program"], program.get("wall_s", {})
        found = program_times(rows, program, mode)
        times = [f"{found[0] / 1e3:.0f}", f"{found[1] / 1e3:.0f}", f"{found[0] / found[1]:.3f}",
                 show_noise(found[2])] if found else ["-"] * 4
        seconds = [f"{statistics.median(walls[m]):.2f}" if walls.get(m) else "-" for m in ("plain", mode)]
        faults = program.get("faults", {})
        print(f"| {half(name)} | {name} | " +
              " | ".join(times + seconds + [faults.get("plain") or faults.get(mode) or "same"]) + " |")


def is_slower(before, after):
    return after > before * (1 + MOST_LOSS)


def slower_kernels(rows, mode):
    return [row for row in rows if is_judged(row, mode) and is_slower(middle(row, "plain"), middle(row, mode))]


def slower_programs(rows, programs, mode):
    """Names with before, after and noise."""
    found = [(p["program"], program_times(rows, p, mode)) for p in programs]
    return [(name, *times) for name, times in found if times and is_slower(*times[:2])]


def print_slower(what, before, after, share, said=""):
    where = "beyond the" if after / before - 1 > share else "within the" if not math.isinf(share) else "in one round, whose"
    tail = "noise is not known" if math.isinf(share) else f"noise of {share:.1%}"
    print(f"  slower: {what}: {before / after:.3f}, {where} {tail} {said}")


def is_hashed(row, mode):
    """Whether the library says that a hash was used; of the corpus and of Triton nothing is said."""
    said = row.get("said", {}).get(mode, "")
    return row["program"].startswith("strangers/") and bool(said) and not said.startswith("left alone")


def least(rows, mode, names):
    """The smallest speed-up of some kernels, its half, and whose it is."""
    if not rows:
        return "-", "-", "-"
    row = min(rows, key=lambda own: gain(own, mode))
    return f"{gain(row, mode):.3f}", half(row["program"]), f"{row['program']} {names[row['kernel']]}"


def print_sums(rows, programs, mode):
    """The goals, and where they are missed; how many times they are."""
    judged = [row for row in rows if is_judged(row, mode)]
    kernels, slow = slower_kernels(rows, mode), slower_programs(rows, programs, mode)
    wrong = [p for p in programs if p.get("faults", {}).get(mode)]
    print(f"\n{mode}: of {len(judged)} kernels over 20 us {len(kernels)} are slower by more than 2%, of {len(programs)} "
          f"programs {len(slow)}; {len(wrong)} programs do not do what they did")
    names = readable(rows)
    for row in kernels:
        print_slower(row["program"] + " " + names[row["kernel"]], middle(row, "plain"), middle(row, mode),
                     noise(row, mode), row.get("said", {}).get(mode, ""))
    for found in slow:
        print_slower(*found)
    for program in wrong:
        print(f"  wrong: {program['program']}: {program['faults'][mode]}")
    print(f"\n| {mode}: geometric mean | half A | half B | all | least | half | which |")
    print("|---|---:|---:|---:|---:|---|---|")
    for name, chosen in [("kernels with conflicts", [r for r in judged if has_conflicts(r)]),
                         ("kernels without", [r for r in judged if r.get("conflicts") is not None and not has_conflicts(r)]),
                         ("kernels not counted", [r for r in judged if r.get("conflicts") is None]),
                         ("kernels of strangers with a hash", [r for r in judged if is_hashed(r, mode)]),
                         ("all kernels", judged)]:
        parts = [[gain(r, mode) for r in chosen if half(r["program"]) in which] for which in ("A", "B", "AB")]
        print(f"| {name} | " + " | ".join([*map(mean, parts), *least(chosen, mode, names)]) + " |")
    return len(kernels) + len(slow) + len(wrong)


def print_first(programs, mode):
    """What a first run costs, in which caches are empty: all programs together, and the three that it costs most."""
    known = [(p["first_s"][mode] - p["first_s"]["plain"], p) for p in programs if mode in p.get("first_s", {})]
    if not known:
        return
    both = [sum(p["first_s"][m] for _, p in known) for m in ("plain", mode)]
    print(f"\n{mode}: first runs of {len(known)} programs, with empty caches: {both[0]:.1f} s as they are, {both[1]:.1f} s; most for " +
          ", ".join(f"{p['program']} ({p['first_s']['plain']:.1f} and {p['first_s'][mode]:.1f} s)" for _, p in
                    sorted(known, key=lambda pair: -pair[0])[:3]))


def print_all(found):
    """Tables of all modes but plain; the number of things that are not as they should be."""
    rows, programs = found["rows"], found["programs"]
    told = [mode for row in rows for mode in row["times_ns"]] + [mode for p in programs for mode in p.get("faults", {})]
    bad = 0
    for mode in [mode for mode in dict.fromkeys(told) if mode != "plain"]:
        print_kernels(rows, mode)
        print_programs(rows, programs, mode)
        bad += print_sums(rows, programs, mode)
        print_first(programs, mode)
    for program in programs:
        if program.get("faults", {}).get("plain"):
            print(f"not measured: {program['program']}: {program['faults']['plain']}")
            bad += 1
    return bad


def add_rounds(known, row):
    """Adds the rounds of a row to those of the same kernel or program."""
    for what in ("times_ns", "wall_s", "calls_ns"):
        for mode, times in row.get(what, {}).items():
            known[what][mode] = known[what].get(mode, []) + times
    known.get("faults", {}).update(row.get("faults", {}))


def of_python(cases):
    """The rows of what bench/triton_python.py writes; how often it launched is not in there."""
    rows = [{"program": case["case"], "kernel": case["case"], "launches": 0,
             "conflicts": case["conflicts"] / case["wavefronts"] if case.get("wavefronts") else 0,
             "times_ns": {"plain": [1e3 * case["before_us"]], "run": [1e3 * case["after_us"]]}}
            for case in cases if case.get("after_us")]
    faults = {case["case"]: {} if case["right"] else {"run": "wrong"} for case in cases}
    return {"rows": rows, "programs": [{"program": name, "faults": own} for name, own in faults.items()]}


def read_all(paths):
    """The rows of several files, as one; what was measured in several has all their rounds."""
    found = {"rows": {}, "programs": {}}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        told = of_python(told) if isinstance(told, list) else told
        for part, known in found.items():
            for row in told[part]:
                key = row["program"], row.get("kernel")
                if key in known:
                    add_rounds(known[key], row)
                else:
                    known[key] = row
    return {part: list(known.values()) for part, known in found.items()}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: speed_table.py FILE.json...")
    sys.exit(1 if print_all(read_all(sys.argv[1:])) else 0)
