#!/usr/bin/env python3
"""Times of the benchmark corpus on the GPU in this machine, launch by launch, as CSV.

Nsight Compute flushes the caches before every launch, so times are those of a cold start, as in the
simulator. Skipped (status 77) without a GPU or ncu. Run as: timing.py BUILD_FOLDER [SCALE [NAME...]]
"""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

METRICS = ["sm__cycles_elapsed.max", "gpu__time_duration.sum", "smsp__inst_executed.sum",
           "dram__bytes.sum", "launch__registers_per_thread"]


def main():
    if not shutil.which("nvidia-smi") or not shutil.which("ncu"):
        print("no NVIDIA GPU, or no ncu")
        return 77
    program = os.path.join(sys.argv[1], "bankfold")
    scale = sys.argv[2] if len(sys.argv) > 2 else "1"
    chosen = sys.argv[3:] or ["--all"]
    listed = subprocess.run([program, "corpus", "--json"], capture_output=True, text=True, check=True)
    names = [b["name"] for b in json.loads(listed.stdout)["benchmarks"]]
    names = names if chosen == ["--all"] else chosen
    print("scale,benchmark,launch,kernel,grid,block,cycles,nanoseconds,instructions,dram_bytes,registers")
    for name in names:
        run = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics",
                              ",".join(METRICS), program, "corpus", "--gpu", "--scale", scale, name],
                             capture_output=True, text=True, check=False)
        if '"ID"' not in run.stdout:
            print(f"# {name}: ncu failed: {run.stdout[-300:]} {run.stderr[-300:]}")
            continue
        rows = list(csv.DictReader(io.StringIO(run.stdout[run.stdout.index('"ID"'):])))
        unit = rows[0]["gpu__time_duration.sum"]
        times = {"ns": 1, "us": 1e3, "ms": 1e6, "nsecond": 1, "usecond": 1e3, "msecond": 1e6}[unit]
        bytes_unit = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}[rows[0]["dram__bytes.sum"]]
        for index, row in enumerate(rows[1:]):
            value = [float(row[m].replace(",", "")) for m in METRICS]
            print(",".join(map(str, [scale, name, index, row["Kernel Name"].split("(")[0],
                                     row["Grid Size"].replace(",", ""), row["Block Size"].replace(",", ""),
                                     int(value[0]), round(value[1] * times, 1), int(value[2]),
                                     round(value[3] * bytes_unit), int(value[4])])))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
