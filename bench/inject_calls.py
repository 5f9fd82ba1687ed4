#!/usr/bin/env python3
"""What a launch costs that passes through the injection library: instructions, counted by valgrind.

    inject_calls.py BUILD [LIBRARY]

A program launches a kernel with the driver of tests/inject, in each state that a kernel can be in, and asks for kernels that it
has, as runtimes may before each launch. Counted are the instructions of the library, and of the C library's locks, between
two numbers of launches. BUILD is a folder of meson, with
`ninja tests bench`; LIBRARY is another build of the injection library, to compare with.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

KERNEL, OTHER = "rotate", "_Z9transposeILi32EEvPfPKf"
FEW, MANY = 600, 2600


def count(build, work, environment, launches, kernel, call):
    """Instructions of a run, of the library itself; lines of callgrind's file are costs, or say whose they are."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/out", f"{build}/bench/bench_inject", call,
               "tests/data/ptx/tile.sm_90.ptx", kernel, str(launches)]
    subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": f"{build}/tests/inject", **environment},
                   capture_output=True, text=True, check=True)
    total, counts, is_call, in_library, names = 0, False, False, False, {}
    with open(f"{work}/out", encoding="utf-8") as file:
        for line in file:
            said = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
            if said:
                called, kind, number, name = said.groups()
                name = names.setdefault((kind, number), name)
                if called:
                    continue
                in_library = "bankfold-inject" in name if kind == "ob" else in_library
                counts = in_library or (kind == "fn" and re.match("pthread_(once|mutex|cond)", name) is not None)
            elif line.startswith("calls="):
                is_call = True
            elif re.match(r"[+*\d-]", line):
                total += int(line.split()[1]) if counts and not is_call else 0
                is_call = False
    return total


def states(work):
    """What is measured: name, variables, kernel, launches from and to, between which nothing else happens, and the call."""
    hashes, slow, fast, functions = (f"{work}/{name}" for name in ("hashes", "slow", "fast", "functions"))
    for path, text in ((hashes, f"{KERNEL} cute:3,4,3"), (slow, f"{KERNEL}__bankfold_1 * 3000 0\n{KERNEL} * 2000 0"),
                       (fast, f"{KERNEL}__bankfold_1 * 1000 0\n{KERNEL} * 2000 0"),
                       (functions, f"{KERNEL}__bankfold_1 * 119 80 0 1 0")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    named, learn = {"BANKFOLD_HASHES": hashes}, {"BANKFOLD_HASHES": hashes, "BANKFOLD_LEARN": "1"}
    yield "nothing is hashed", {"BANKFOLD_HASH": "none"}, KERNEL, FEW, MANY, "--launch"
    yield "the kernel has no second version", named, OTHER, FEW, MANY, "--launch"
    yield "its second version cannot be launched", {**named, "STUB_FUNCTIONS": functions}, KERNEL, FEW, MANY, "--launch"
    yield "its second version is launched", named, KERNEL, FEW, MANY, "--launch"
    yield "`--learn`, the kernel has no second version", learn, OTHER, FEW, MANY, "--launch"
    yield "`--learn`, learnt: as it is", {**learn, "STUB_TIMES": slow}, KERNEL, FEW, MANY, "--launch"
    yield "`--learn`, learnt: the second version", {**learn, "STUB_TIMES": fast}, KERNEL, FEW, MANY, "--launch"
    yield "`--learn`, while it measures", {**learn, "STUB_TIMES": slow}, KERNEL, 8, 12, "--launch"
    for call, what in (("--get", "a library is asked for a kernel"), ("--function", "a kernel is asked for its function")):
        yield f"{what} that has no second version", named, OTHER, FEW, MANY, call
        yield f"{what} that has one", named, KERNEL, FEW, MANY, call


def forget(cache):
    """What was learnt, but not what was rewritten."""
    for path in glob.glob(f"{cache}/learnt-*"):
        os.remove(path)


def main():
    build = os.path.abspath(sys.argv[1])
    library = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else f"{build}/inject/libbankfold-inject.so"
    if not os.path.exists(library):
        sys.exit(f"{library} is not there")
    print("| instructions of a launch in the library | |\n|---|---:|")
    with tempfile.TemporaryDirectory() as work:
        for i, (name, variables, kernel, few, many, call) in enumerate(states(work)):
            cache = f"{work}/cache{i}"
            environment = {"LD_PRELOAD": library, "BANKFOLD_CACHE": cache, **variables}
            counts = []
            for launches in (many, few, many):  # the first one fills the cache
                if few != FEW:
                    forget(cache)
                counts.append(count(build, work, environment, launches, kernel, call))
            del environment["LD_PRELOAD"]  # the driver has locks too
            locks = [count(build, work, environment, launches, kernel, call) for launches in (few, many)]
            own = counts[2] - counts[1] - (locks[1] - locks[0])
            print(f"| {name} | {own / (many - few):.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    main()
