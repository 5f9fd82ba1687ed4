#!/usr/bin/env python3
"""The keys that docs/json.md lists are those that the program prints: json_keys.py BUILD."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "bankfold")
# A driver without a GPU, for tune.
PARTS = os.path.join(os.path.abspath(sys.argv[1]), "tests/inject")
# Votes on a GPU that is none, for hist and hough.
FAKE_GPU = os.path.join(os.path.abspath(sys.argv[1]), "tests/libfake-gpu.so")
TILE = "examples/tile.trace"
FATBIN = "tests/data/fatbin/lz4.fatbin"

# What `rtl cost` needs besides yosys.
CELLS = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"

# Per command, invocations that together print every key.
INVOCATIONS = {
    "explain": [["tile[threadIdx.x][0]", "--type", "float[32][32]"]],
    "ncu": [["tests/data/ncu/full.raw.csv", "tests/data/ncu/lines.source.csv", "--program", "tests/data/ncu/causes.ptx"]],
    "check": [[TILE, "--accesses"], ["-", "--machine", "fermi", "--accesses"]],
    "classify": [[TILE], [TILE, "--accesses"]],
    "analyze": [["tests/data/ptx/tile.sm_90.ptx", "--block", "16x16"], ["tests/golden/products.ptx", "--block", "256"]],
    "scan": [["tests/data/ncu/causes.ptx", "tests/golden", "--no-cache"]],
    "layout": ["--tile 64x64 --write tma --read wgmma:A".split()],
    "solve": [[TILE, "--joint"], [TILE, "--arrays", "0,4096"], [TILE, "--also", "ampere"], [TILE, "--method", "bit-vector"]],
    "align": ["--hash fixed --stride 6 --count 32 --range 0:1023 --brute-force".split()],
    "convert": [["--hash", "fixed"], [TILE, "--output", "{folder}/tile.packed"]],
    "emit": [["--hash", "fixed", "--as", "c"]],
    "rtl": [["--hash", "fixed", "-o", "{folder}/rtl"], ["cost", "--family", "bit-vector-perm"],
            ["cost", "--hash", "fixed", "--clock", "4"]],
    "draw": [[TILE, "--hash", "fixed"]],
    "ptx": [["list", FATBIN], ["show", FATBIN], ["kernels", "tests/data/ptx/tile.sm_90.ptx"], ["extract", FATBIN, "--output", "{folder}/a.ptx"]],
    "exec": [["tests/data/programs/transpose"], ["--gpu", "gtx580", "tests/data/programs/transpose"],
             ["--gpu", "h200", "--what-if", "fixed", "tests/data/programs/transpose"], ["--sample", "auto", "tests/data/programs/sampled"]],
    "profile": [["kernels/transpose/transpose.ptx", "--launch", "examples/transpose.launch"],
                ["tests/golden/products.ptx", "--launch", "tests/golden/products.launch"]],
    "trace": [["kernels/transpose/transpose.ptx", "--launch", "examples/transpose.launch", "--output", "{folder}/t.trace"]],
    "corpus": [[], ["transpose16"], ["transpose16", "--table"]],
    "reproduce": [[], ["--summary"], ["genindex", "--quick", "--output", "{folder}/reproduction"]],
    "rewrite": [["tests/golden/rewrite.ptx", "--block", "1024", "--output", "{folder}/p.ptx"],
                ["tests/golden/rewrite.ptx", "--launch", "tests/golden/rewrite.launch", "--check", "--output", "{folder}/r.ptx"],
                ["tests/data/ptx/tensor.sm_90.ptx", "--explain"],
                ["tests/golden/products.ptx", "--block", "128", "--output", "{folder}/o.ptx"]],
    "rgpu": [["map", "examples/rgpu/conv.df", "--trade"], ["show", "examples/rgpu/conv.df"],
             ["extract", "kernels/scalar_product/scalar_product.ptx", "--loop", "101"],
             ["run", "nn", "--quick"], ["cost", "nn", "--quick"],
             ["sweep", "nn", "--quick", "--axes", "lanes=6", "--output", "{folder}/rgpu"]],
    "suggest": [["tests/data/suggest/tiles.ptx", "--source", "tests/data/suggest/tiles.cu",
                 "--launch", "tests/data/suggest/tiles.launch"]],
    "report": [[TILE]],
    "explore": [["--output", "{folder}/explorer.html"]],
    "hist": [["examples/images/natural.png"], ["examples/images/natural.png", "--device", "emu"],
             ["examples/images/natural.png", "--device", "gpu"]],
    "hough": [["examples/images/lines.png"], ["examples/images/lines.png", "--device", "emu"],
              ["examples/images/lines.png", "--device", "gpu"]],
    "machines": [[], ["hopper"], ["gtx580"]],
    "sim": [["--benchmark", "transpose16", "--gpu", "examples/small.gpu"],
            ["--benchmark", "transpose32", "--scale", "4", "--gpu", "examples/small.gpu", "--sample", "auto"],
            ["--benchmark", "transpose16", "--gpu", "h200", "--set", "sms=1"],
            ["kernels/transpose/transpose.ptx", "--launch", "examples/transpose.launch", "--gpu", "examples/small.gpu"],
            ["--benchmark", "transpose16", "--gpu", "examples/small.gpu", "--sweep", "sms=1", "--output", "{folder}/sweep"]],
    "tune": [["--hash", "fixed", PARTS + "/tuned", "tests/data/ptx/tile.sm_90.ptx", "_Z9transposeILi32EEvPfPKf*5"]],
    "help": [[]],
}
# Standard input of all: atomics, one of them by a rule that the machine assumes.
TRACE = "atom 4 ffffffff stride:32\nexch 4 ffffffff stride:32\n"
# Objects whose members are names of things.
OPEN_OBJECTS = {"forms", "parameters", "sources"}


def documented():
    """Keys per command, from the first columns of the tables."""
    keys, command = {}, None
    with open(os.path.join(ROOT, "docs/json.md"), encoding="utf-8") as page:
        for line in page:
            if line.startswith("## "):
                command = line[3:].strip()
                keys[command] = set()
            elif match := re.match(r"\| `([^`]+)` \|", line):
                keys[command].add(match.group(1))
    return keys


def keys_of(value, prefix=""):
    """All keys inside value, members joined by dots."""
    if isinstance(value, list):
        return {key for member in value for key in keys_of(member, prefix)}
    found = set()
    for name, member in value.items() if isinstance(value, dict) else ():
        found.add(prefix + name)
        if name not in OPEN_OBJECTS:
            found |= keys_of(member, prefix + name + ".")
    return found


def stub_driver(folder):
    """Variables for programs on a driver without a GPU, where all launches take a microsecond."""
    table = os.path.join(folder, "times")
    with open(table, "w", encoding="utf-8") as file:
        file.write("_Z9transposeILi32EEvPfPKf * 1000 0\n")
    return {"LD_LIBRARY_PATH": PARTS, "STUB_TIMES": table}


def printed(command, folder):
    found = set()
    for arguments in INVOCATIONS[command]:
        line = [PROGRAM, command, "--json", *(a.format(folder=folder) for a in arguments)]
        environment = {**os.environ, "BANKFOLD_VOTE_CUDA": FAKE_GPU, **(stub_driver(folder) if command == "tune" else {})}
        result = subprocess.run(line, input=TRACE, cwd=ROOT, check=True, text=True, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        found |= keys_of(json.loads(result.stdout))
    return found


def main():
    faults = 0
    pages = documented()
    listing = subprocess.run([PROGRAM, "help", "--json"], check=True, stdout=subprocess.PIPE)
    commands = {command["name"] for command in json.loads(listing.stdout)["commands"]
                if any(option["name"] == "json" for option in command["options"])}
    for command in sorted(commands | set(pages)):
        if command == "rtl" and not (shutil.which("yosys") and os.path.exists(CELLS)):
            print("SKIP rtl: no yosys, or no cells for it")
            continue
        if command == "explore" and not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "web/explorer.html")):
            print("SKIP explore: web/build.sh has not made the explorer")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = printed(command, folder) if command in INVOCATIONS else set()
        for key in sorted(found ^ pages.get(command, set())):
            where = "not documented" if key in found else "documented but not printed"
            print(f"{command}: {key} is {where}")
            faults += 1
        if command not in pages or command not in commands:
            print(f"{command}: only in {'the program' if command in commands else 'docs/json.md'}")
            faults += 1
    return 1 if faults else 0


sys.exit(main())
