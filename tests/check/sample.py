#!/usr/bin/env python3
"""exec --sample on programs of tests/data/programs: bounds of kernels and lines hold the exact numbers, without the rest as
with it; results stay the same where the rest runs; few blocks are counted exactly. Argument: the build folder."""
import json
import os
import subprocess
import sys

BUILD = sys.argv[1]
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "programs")
faults = 0


def complain(text):
    global faults
    print(text)
    faults += 1


def run(program, *options):
    """The profile of a run, and what the program printed."""
    done = subprocess.run([os.path.join(BUILD, "bankfold"), "exec", "--json", *options, os.path.join(HERE, program)],
                          capture_output=True, text=True)
    if not done.stdout:
        complain(f"{program} {options}: {done.stderr}")
        return {}, ""
    kernels = {kernel["name"]: kernel for kernel in json.loads(done.stdout)["kernels"]}
    return kernels, done.stderr


def compare(program, kernel, exact, options):
    """Bounds of a kernel that was sampled, or its numbers where all blocks were counted."""
    name = f"{program} {' '.join(options)}: {kernel['name']}"
    sampled = kernel.get("sampled")
    if not sampled:
        for key in ("conflicts", "accesses", "wavefronts", "ideal"):
            if kernel[key] != exact[key]:
                complain(f"{name}: {key} {kernel[key]}, not {exact[key]}")
        return False
    if not sampled["counted_blocks"] < sampled["blocks"]:
        complain(f"{name}: all blocks are counted")
    pairs = [(sampled, exact["conflicts"], kernel["conflicts"])]
    lines = {(line["file"], line["line"]): line["conflicts"] for line in exact["lines"]}
    pairs += [(line, lines[line["file"], line["line"]], line["conflicts"]) for line in kernel["lines"]]
    for bounds, wanted, estimate in pairs:
        if not bounds["conflicts_low"] <= wanted <= bounds["conflicts_high"]:
            complain(f"{name}: {wanted} is not in {bounds}")
        if not bounds["conflicts_low"] <= estimate <= bounds["conflicts_high"]:
            complain(f"{name}: the estimate {estimate} is not in {bounds}")
    return True


if not os.path.exists(os.path.join(BUILD, "runtime", "libcudart.so.13")):
    print("no runtime/libcudart.so.13 in " + BUILD)
    sys.exit(77)
for program, wanted in (("sampled", 2), ("transpose", 0), ("instances", 0)):
    exact, printed = run(program)
    for share in ("50%", "0.1", "1%", "auto"):
        for rest in ((), ("--skip-rest",)):
            options = ("--sample", share, *rest)
            kernels, said = run(program, *options)
            if set(kernels) != set(exact):
                complain(f"{program} {options}: other kernels")
                continue
            found = sum(compare(program, kernels[name], exact[name], options) for name in exact)
            if found != wanted:
                complain(f"{program} {options}: {found} kernels are sampled, not {wanted}")
            if not rest and said != printed:
                complain(f"{program} {options}: it prints {said}, not {printed}")
sys.exit(faults != 0)
