#!/usr/bin/env python3
"""The kernels of bench/triton_kernels.py compiled by Triton's own ptxas and by bankfold-ptxas in its place, with no
option at all: results compared with PyTorch's, times by CUDA events, by turns (docs/never_slower.md).

    triton_speed.py BUILD [--rounds 3] [--output triton.json] [NAME...]

BUILD has bankfold-ptxas, or bankfold under that name. Each way has a process and a cache of its own. The exit status is 1 where
a kernel is slower by more than 2% or wrong.
"""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import speed_table  # noqa: E402

COUNTERS = ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triton_kernels.py")


def own_ptxas():
    """The ptxas that Triton brings."""
    import triton
    path = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "ptxas")
    if os.path.exists(path):
        return path
    from triton.backends.nvidia.compiler import get_ptxas
    return get_ptxas(90).path


def ways(build, work):
    """The environment of each way; ptxas is the same program in both."""
    ours = os.path.join(os.path.abspath(build), "bankfold-ptxas")
    own = own_ptxas()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BANKFOLD_")}
    common = {"BANKFOLD_PTXAS": own, "BANKFOLD_LOG": os.path.join(work, "log")}
    return {mode: {**clean, **common, "TRITON_PTXAS_PATH": ptxas, "TRITON_PTXAS_BLACKWELL_PATH": ptxas,
                   "TRITON_CACHE_DIR": os.path.join(work, mode)} for mode, ptxas in [("plain", own), ("run", ours)]}


def call(command, environment):
    """What a command prints to both streams; of one that takes over five minutes nothing."""
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        return ran.stdout, ran.stderr
    except subprocess.TimeoutExpired:
        return "", "takes over five minutes"


def run_way(environment, names):
    out, err = call([sys.executable, KERNELS, *names], environment)
    lines = [json.loads(line) for line in out.split("\n") if line.startswith("{")]
    return lines or [{"name": name, "failed": err[-300:]} for name in names or ["all"]]


def count_conflicts(environment, names):
    """Cases -> the share of wavefronts in shared memory that ncu counts as conflicts. It counts some where accesses of
    several warps meet, too. Nothing without ncu."""
    if not shutil.which("ncu"):
        return {}
    out, err = call(["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
                     "--target-processes", "all", "--kernel-name", "regex:^[a-z_]+_kernel$", "--metrics",
                     ",".join(COUNTERS), sys.executable, KERNELS, "--once", *names], environment)
    if '"ID"' not in out:
        print(f"ncu counts nothing: {out[-300:]} {err[-300:]}", file=sys.stderr)
        return {}
    shares = {}
    lines = [line for line in out[out.index('"ID"'):].split("\n") if line.startswith('"')]
    for row in csv.DictReader(lines):
        case = re.sub("_kernel$", "", row["Kernel Name"].split("(")[0]).replace("_", "-")
        try:
            conflicts, wavefronts = (float(row[name].replace(",", "")) for name in COUNTERS)
        except ValueError:  # the line of units
            continue
        shares[case] = conflicts / wavefronts if wavefronts else 0
    return shares


def collect(rows, programs, mode, told):
    """Adds what one run of a way says about a kernel."""
    key = "triton/" + told["name"]
    row = rows.setdefault(key, {"program": key, "kernel": told["name"], "conflicts": None, "launches": 0,
                                "times_ns": {}, "said": {}})
    program = programs.setdefault(key, {"program": key, "faults": {}})
    if "failed" in told:
        program["faults"].setdefault(mode, told["failed"].replace("\n", " / "))
    elif not told["right"]:
        program["faults"].setdefault(mode, f"differs from PyTorch by {told['error']}")
    else:
        row["launches"] = told["launches"]
        row["times_ns"].setdefault(mode, []).append(told["ns"])
        row["said"][mode] = f"{told['shared_bytes']} bytes of shared memory"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", default="triton.json")
    options = parser.parse_intermixed_args()
    if not options.build:
        parser.error("which build folder?")
    try:
        import torch
        import triton  # noqa: F401
        missing = None if torch.cuda.is_available() else "no GPU"
    except ImportError as error:
        missing = str(error)
    if missing:
        print(missing)
        return 77
    rows, programs = {}, {}
    with tempfile.TemporaryDirectory() as work:
        environments = ways(options.build, work)
        for number in range(options.rounds):
            for mode in list(environments)[::-1 if number % 2 else 1]:
                for told in run_way(environments[mode], options.names):
                    collect(rows, programs, mode, told)
        for case, share in count_conflicts(environments["plain"], options.names).items():
            if "triton/" + case in rows:
                rows["triton/" + case]["conflicts"] = share
        if os.path.exists(os.path.join(work, "log")):
            with open(os.path.join(work, "log"), encoding="utf-8", errors="replace") as file:
                print(file.read())
    found = {"rows": list(rows.values()), "programs": list(programs.values())}
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    return 1 if speed_table.print_all(found) else 0


if __name__ == "__main__":
    sys.exit(main())
