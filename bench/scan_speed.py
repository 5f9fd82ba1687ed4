#!/usr/bin/env python3
"""How long scan takes for a thousand kernels: bench/scan_speed.py BUILD [--before PROGRAM] [FOLDER...]

PROGRAM is another bankfold, as of an earlier version: both are measured in turn, ROUNDS times (2), and the less processor time of each counts; what
they find must be the same. bench/large_module.py writes a source of many large kernels, whose PTX is one module.

Scans the PTX of the corpus (kernels/), or the folders given, on two threads without what was kept. Kernels are made a thousand by copies
under other names, as each counts once: a copy has its number behind every name of a kernel. Prints a JSON line."""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

WANTED, THREADS = 1000, 2


def scan(program, folder):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "scan", folder, "--no-cache", "--threads", str(THREADS), "--json", "--top", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout)["kernels"], time.monotonic() - start, cpu


def copy(paths, number, folder):
    for index, path in enumerate(paths):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        names = set(re.findall(r"\.entry\s+([\w$]+)", text))
        text = re.sub(r"[\w$]+", lambda word: word[0] + "_%d" % number if word[0] in names else word[0], text)
        with open(os.path.join(folder, "%d_%d.ptx" % (number, index)), "w", encoding="utf-8") as file:
            file.write(text)


def measure(programs, rounds, folder):
    """The kernels that all find, and (processor seconds, seconds) of each program."""
    best, found = {}, None
    for program in programs * rounds:
        kernels, seconds, cpu = scan(program, folder)
        for kernel in kernels:  # words, which may have changed
            del kernel["rests_on"]
        best[program] = min(best.get(program, (cpu, seconds)), (cpu, seconds))
        if found is not None and found != kernels:
            sys.exit("they find different things")
        found = kernels
    return found, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build")
    parser.add_argument("folder", nargs="*", default=["kernels"])
    parser.add_argument("--before", help="another program bankfold, measured beside that of the build")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_intermixed_args()
    programs = ([options.before] if options.before else []) + [os.path.join(options.build, "bankfold")]
    paths = [os.path.join(where, name) for folder in options.folder for where, _, names in sorted(os.walk(folder))
             for name in sorted(names) if name.endswith(".ptx") and not name.startswith("err_")]
    with tempfile.TemporaryDirectory() as folder:
        copy(paths, 0, folder)
        kernels = len(scan(programs[-1], folder)[0])
        for number in range(1, -(-WANTED // max(kernels, 1))):
            copy(paths, number, folder)
        found, best = measure(programs, options.rounds, folder)
    for program, (cpu, seconds) in best.items():
        print(json.dumps({"bench": "scan", "program": "before" if program == options.before else "now", "files": len(paths),
                          "kernels": len(found), "threads": THREADS, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1),
                          "seconds_per_1000": round(1000 * seconds / len(found), 1),
                          "cores_busy_seconds_per_1000": round(1000 * cpu / THREADS / len(found), 1)}))


if __name__ == "__main__":
    main()
