#!/usr/bin/env python3
"""What the simulator says of many launches, to compare two versions of it: a change that is to make it faster must not move a cycle.

    bench/sim_same.py build/bankfold [--quick] >after && diff before after

Runs every benchmark of the corpus on an H200, and every third, sixth or twelfth one on GPUs with other pipelines and with parts of the
H200 changed (schedulers, caches left out, short queues), then the kernels of bench/weak.ptx (gathers, chains, atomics, copies) on the
whole H200 with one and with two threads. One line each: the cycles, a checksum of everything that `sim --json` says but for the time of
the host, and what was run. --quick takes every eighth of these."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

# Which benchmarks, one of so many, and on what.
MACHINES = [(1, ["--gpu", "h200"]), (3, ["--gpu", "gtx580"]), (3, ["--gpu", "elastic"]), (6, ["--gpu", "v100"]),
            (6, ["--gpu", "gtx280"]), (6, ["--gpu", "examples/small.gpu"]),
            (6, ["--gpu", "h200", "--set", "sms=1"]), (6, ["--gpu", "h200", "--set", "sms=3", "--threads", "2"]),
            (6, ["--gpu", "h200", "--hash", "fixed"])]
MACHINES += [(12, ["--gpu", "h200", "--set", change]) for change in (
    "scheduler=gto", "scheduler=oldest", "scheduler=two-level", "scheduler=conflict-aware", "l1_bytes=0", "l2_bytes=0", "l1_misses=4",
    "global_queue=3", "dram_queue=1", "dram_fetch=sectors", "lookahead=0", "l2_atomics=lanes", "dispatch=2", "return_bytes_per_cycle=8",
    "l2_slices=24", "dram_channels=5", "sms=20")]
WEAK = ["gather", "gather_indexed", "gather_large", "gather_bytes", "gather_generic", "chase", "atomics", "draws", "float_atomics", "swaps"]


def cases(program):
    """Command lines and what to call them."""
    lines = subprocess.run([program, "corpus"], capture_output=True, text=True, check=True).stdout.split("\n")[1:]
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    for number, (every, options) in enumerate(MACHINES):
        for name in names[number % every::every]:
            yield ["--benchmark", name, *options]


def weak_cases(folder):
    """The same for the kernels of bench/weak.ptx: rounds of each, so that one takes about a second."""
    for name in WEAK + ["copy4"]:
        words = 1 << 24 if name == "gather_large" else 1 << 20
        first = "f32" if name in ("gather", "gather_large", "gather_generic", "float_atomics") else "u32"
        count = words // 4 if name == "copy4" else 8
        path = os.path.join(folder, name + ".launch")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"buffer first {first} {words} {'zero' if first == 'f32' else 'random 0 1048575'}\n"
                       f"buffer index u32 1048576 random 0 1048575\nbuffer out u32 1048576 zero\n"
                       f"launch {name} grid 264 block 256 with first index out s32:{count}\n")
        for threads in "12":
            yield ["bench/weak.ptx", "--launch", path, "--gpu", "h200", "--threads", threads]


def without_host(value):
    """JSON without what depends on the host."""
    if isinstance(value, dict):
        return {key: without_host(own) for key, own in value.items() if "host" not in key}
    return [without_host(own) for own in value] if isinstance(value, list) else value


def main():
    program, is_quick = sys.argv[1], "--quick" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        every = 8 if is_quick else 1
        for options in [*list(cases(program))[::every], *list(weak_cases(folder))[::every]]:
            done = subprocess.run([program, "sim", *options, "--json"], capture_output=True, text=True)
            said = done.stderr.replace(folder, "")
            cycles = "-"
            if done.returncode in (0, 1) and done.stdout:
                found = without_host(json.loads(done.stdout))
                cycles = found["total"]["cycles"]
                said = json.dumps(found, sort_keys=True).replace(folder, "")
            print(cycles, hashlib.sha256(said.encode()).hexdigest()[:16], " ".join(options).replace(folder + "/", ""), flush=True)


if __name__ == "__main__":
    sys.exit(main())
