#!/usr/bin/env python3
"""What the launches of tests/data/h200/launches.csv take on the GPU in this machine, as CSV.

Runs gpu/truth under Nsight Compute, which flushes the caches before every launch: once with all
counters, and three times with cycles alone, of which the table has the median, the least and the
most. Skipped (status 77) without a GPU or ncu. Run as: truth.py OUT LAUNCHES SET=CUBIN..., where OUT is
what gpu/build.sh made and CUBIN what ptxas made of reproduce/h200/h200_SET.ptx.
"""
import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile

REPEATS = 3
CYCLES = "sm__cycles_elapsed.max"
COUNTERS = {"nanoseconds": "gpu__time_duration.sum", "active_cycles": "sm__cycles_active.max",
            "mean_active_cycles": "sm__cycles_active.avg", "instructions": "smsp__inst_executed.sum",
            "registers": "launch__registers_per_thread", "l1_bytes": "l1tex__t_bytes.sum",
            "l2_bytes": "lts__t_bytes.sum", "dram_read_bytes": "dram__bytes_read.sum",
            "dram_written_bytes": "dram__bytes_write.sum",
            "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"}
STALLS = ["barrier", "branch_resolve", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
          "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
          "short_scoreboard", "sleeping", "tex_throttle", "wait"]
for reason in STALLS:
    COUNTERS["stall_" + reason] = f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def measure(arguments, repeats, metrics):
    """The values of metrics, launch by launch, as Nsight Compute writes them."""
    out, launches, *sets = arguments
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "ncu.csv")
        run = subprocess.run(["ncu", "--clock-control", "none", "--cache-control", "all", "--csv", "--page", "raw",
                              "--print-units", "base", "--log-file", log, "--metrics", ",".join(metrics),
                              os.path.join(out, "truth"), launches, str(repeats), *sets],
                             capture_output=True, text=True, check=False)
        sys.stderr.write(run.stderr)
        with open(log, encoding="utf-8") as file:
            text = file.read()
    if '"ID"' not in text:
        sys.exit(f"ncu failed:\n{text[-2000:]}")
    return list(csv.DictReader(io.StringIO(text[text.index('"ID"'):])))[1:]


def number(text):
    """A number as it is written in a table: whole where it is."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return ""
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def main():
    if not shutil.which("nvidia-smi") or not shutil.which("ncu"):
        print("no NVIDIA GPU, or no ncu")
        return 77
    arguments = sys.argv[1:]
    with open(arguments[1], encoding="utf-8") as file:
        sets = {argument.split("=")[0] for argument in arguments[2:]}
        launches = [row for row in csv.DictReader(file) if row["set"] in sets]
    timed = measure(arguments, REPEATS, [CYCLES])
    counted = measure(arguments, 1, list(COUNTERS.values()))
    if len(timed) != REPEATS * len(launches) or len(counted) != len(launches):
        sys.stderr.write(f"{len(launches)} launches, but cycles of {len(timed)} and counters of {len(counted)}\n")
    print(",".join(["kernel", "n", "p", "q", "cycles", "least_cycles", "most_cycles", *COUNTERS]))
    for index, launch in enumerate(launches):
        own = timed[index * REPEATS:(index + 1) * REPEATS]
        if any(row["Kernel Name"].split("(")[0] != launch["kernel"] for row in own):
            sys.exit(f"{own[0]['Kernel Name']} in the place of {launch['kernel']}")
        cycles = sorted(int(number(row[CYCLES])) for row in own)
        counters = counted[index] if index < len(counted) else {}
        print(",".join([launch["kernel"], launch["n"], launch["p"], launch["q"], str(cycles[REPEATS // 2]),
                        str(cycles[0]), str(cycles[-1]), *(number(counters.get(m, "")) for m in COUNTERS.values())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
