#!/usr/bin/env python3
"""How long scan takes for a thousand kernels: bench/scan_speed.py BUILD [FOLDER...]

Scans the PTX of the corpus (kernels/), or the folders given, on two threads without what was kept. Kernels are made a thousand by copies
under other names, as each counts once: a copy has its number behind every name of a kernel. Prints a JSON line."""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

WANTED, THREADS = 1000, 2


def scan(build, folder):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [os.path.join(build, "bankfold"), "scan", folder, "--no-cache", "--threads", str(THREADS), "--json", "--top", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout)["kernels"], time.monotonic() - start, cpu


def copy(paths, number, folder):
    for index, path in enumerate(paths):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name in set(re.findall(r"\.entry\s+([\w$]+)", text)):
            text = re.sub(r"\b%s\b" % re.escape(name), "%s_%d" % (name, number), text)
        with open(os.path.join(folder, "%d_%d.ptx" % (number, index)), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    build, folders = sys.argv[1], sys.argv[2:] or ["kernels"]
    paths = [os.path.join(where, name) for folder in folders for where, _, names in sorted(os.walk(folder))
             for name in sorted(names) if name.endswith(".ptx") and not name.startswith("err_")]
    with tempfile.TemporaryDirectory() as folder:
        copy(paths, 0, folder)
        kernels = len(scan(build, folder)[0])
        for number in range(1, -(-WANTED // max(kernels, 1))):
            copy(paths, number, folder)
        found, seconds, cpu = scan(build, folder)
    print(json.dumps({"bench": "scan", "files": len(paths), "kernels": len(found), "threads": THREADS, "seconds": round(seconds, 1),
                      "cpu_seconds": round(cpu, 1), "seconds_per_1000": round(1000 * seconds / len(found), 1),
                      "cores_busy_seconds_per_1000": round(1000 * cpu / THREADS / len(found), 1)}))


if __name__ == "__main__":
    main()
