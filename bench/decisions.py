#!/usr/bin/env python3
"""What `bankfold run` decides for the launches that programs make on an H200, without one.

    decisions.py BUILD --programs FOLDER [--library LIBRARY] [--others LIBRARY] [--recorded JSON] [SET/NAME...]

BUILD is a folder of meson with runtime/libcudart.so.13, inject/libbankfold-inject.so and gpu/measure. The programs of bench/strangers make
their launches at the scale of a GPU with kernels that are not run (bench/decide/launches.c); these launches, and those of the corpus, are
made again under the library with a driver that has ptxas compile what it is given (bench/decide/driver.c). FOLDER keeps what is built.

Prints kernels that get another version than with --others LIBRARY, as one of an earlier commit (inject/build.sh), or than what a file of
bench/never_slower.py says they got on a GPU; exit status 1 where there are such. Needs nvcc and ptxas."""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
HERE = os.path.join(ROOT, "bench", "decide")
PTXAS = "/usr/local/cuda/bin/ptxas"
WIDTH = {"8": 1, "16": 2, "32": 4, "64": 8}


def layouts(ptx):
    """Lines of the kernels of a PTX file and the sizes of their parameters."""
    with open(ptx, encoding="utf-8") as file:
        text = file.read()
    for entry in re.finditer(r"\.entry\s+([\w$]+)\s*\((.*?)\)", text, re.S):
        sizes = re.findall(r"\.[busf](8|16|32|64)\s+[\w$]+(?:\[(\d+)\])?", entry[2])
        yield " ".join([entry[1], *(str(WIDTH[width] * int(count or 1)) for width, count in sizes)])


def build_helpers(folder):
    """The driver, and what notes and repeats launches."""
    for name, output, flags in (("driver", "libcuda.so.1", ["-shared", "-fPIC", "-Wl,-Bsymbolic", "-pthread"]),
                                ("launches", "launches.so", ["-shared", "-fPIC", "-ldl"]), ("replay", "replay", ["-ldl"])):
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", os.path.join(folder, output), os.path.join(HERE, name + ".c"), *flags],
                       check=True)


def prepare(name, options):
    """The image, PTX and launches of a program of bench/strangers, made where they are not there; their path without endings."""
    source, path = os.path.join(ROOT, "bench", "strangers", name + ".cu"), os.path.join(options.programs, name)
    if os.path.exists(path + ".launches") and os.path.getmtime(path + ".launches") > os.path.getmtime(source):
        return path
    for ending, flags in (("", ["-cudart", "shared"]), (".ptx", ["-ptx"]), (".fatbin", ["-fatbin"])):
        subprocess.run(["nvcc", "-w", "-O3", "-std=c++17", "-arch=sm_90", "-lineinfo", *flags, "-o", path + ending, source], check=True)
    with open(path + ".layout", "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in layouts(path + ".ptx"))
    with open(source, encoding="utf-8") as file:
        scale = re.search(r"gpu: (\d+)", file.read())[1]
    noted = path + ".noted"
    subprocess.run([path, scale, "3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False,
                   env={**os.environ, "LD_LIBRARY_PATH": os.path.join(options.build, "runtime"), "DECIDE_LAYOUT": path + ".layout",
                        "DECIDE_LAUNCHES": noted, "LD_PRELOAD": os.path.join(options.programs, "launches.so")})
    with open(noted, encoding="utf-8") as file:
        lines = dict.fromkeys(file)
    with open(path + ".launches", "w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def read_times(path):
    """Of a file of BANKFOLD_TIMES: what launches of a kernel in a grid of so many blocks and threads got, or why they got nothing."""
    rows = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            word, *fields = line.rstrip("\n").split("\t")
            told = dict(field.split("=", 1) for field in fields if "=" in field)
            if word == "launches":
                rows[f"{told['kernel']} {told['blocks']}x{told['threads']}"] = told.get("hash") or "left alone: " + told.get("reason", "")
    return rows


def decide(kind, name, library, options):
    """What a library decides for the launches of a program."""
    path = prepare(name, options) if kind == "strangers" else ""
    command = ([os.path.join(options.programs, "replay"), path + ".fatbin", path + ".launches"] if path else
               [os.path.join(options.build, "gpu", "measure"), "gpu/corpus.scales", "/dev/null", name])
    with tempfile.TemporaryDirectory() as cache:
        times = os.path.join(cache, "times")
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600, check=False,
                       env={**os.environ, "LD_LIBRARY_PATH": options.programs, "LD_PRELOAD": library, "BANKFOLD_HASH": "auto",
                            "BANKFOLD_TIMES": times, "BANKFOLD_CACHE": cache, "DECIDE_PTX": path + ".ptx", "DECIDE_PTXAS": PTXAS})
        return read_times(times) if os.path.exists(times) else {}


def list_programs(options):
    """Sets and names of programs."""
    with open(os.path.join(ROOT, "gpu", "corpus.scales"), encoding="utf-8") as file:
        corpus = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
    strangers = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(ROOT, "bench", "strangers", "*.cu")))
    every = [("strangers", name) for name in strangers] + [("corpus", name) for name in corpus]
    return [own for own in every if not options.names or "/".join(own) in options.names]


def short(said):
    """Names of arrays without those of their functions; predictions are no decisions."""
    return "left alone" if said.startswith("left alone") else re.sub(r"_ZZ\w+?E\d+(\w+)=", r"\1=", said)


def read_recorded(path):
    """By program, what the kernels of a file of bench/never_slower.py got."""
    rows = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as file:
        for row in json.load(file)["rows"]:
            if row.get("said", {}).get("run"):
                rows[row["program"]][row["kernel"]] = row["said"]["run"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--programs", required=True)
    parser.add_argument("--library")
    parser.add_argument("--others")
    parser.add_argument("--recorded")
    options = parser.parse_intermixed_args()
    options.build, options.programs = os.path.abspath(options.build), os.path.abspath(options.programs)
    os.makedirs(options.programs, exist_ok=True)
    build_helpers(options.programs)
    library = os.path.abspath(options.library or os.path.join(options.build, "inject", "libbankfold-inject.so"))
    recorded = read_recorded(options.recorded) if options.recorded else {}
    same = differ = missing = 0
    for kind, name in list_programs(options):
        own, others = decide(kind, name, library, options), recorded.get(f"{kind}/{name}", {})
        if options.others:
            others = decide(kind, name, os.path.abspath(options.others), options)
        told = set()
        for kernel, before in others.items():
            after = own.get(kernel)
            missing += after is None
            same += after is not None and short(after) == short(before)
            differ += after is not None and short(after) != short(before)
            change = (kernel.split()[0], short(before), short(after or before))
            if change[1] != change[2] and change not in told:
                told.add(change)
                print(f"{kind}/{name} {kernel}: {change[1]} -> {change[2]}", flush=True)
    print(f"{same} launches as before, {differ} otherwise, {missing} of another size")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
