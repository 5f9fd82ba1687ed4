#!/usr/bin/env python3
"""The programs of tests/programs on the GPU in this machine print what they print on the emulator.

Each is built by nvcc and run; output and exit status are compared with those that
tests/check/programs.sh expects of exec. Programs that say "// gpu: no" are about Bankfold only.
Skipped (status 77) without a Hopper GPU or nvcc. Run as: programs.py [BUILD_FOLDER [NAME...]]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests", "programs")
TOOLKIT = "/usr/local/cuda/bin"


def missing():
    if not shutil.which("nvidia-smi"):
        return "no NVIDIA GPU"
    query = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                           capture_output=True, text=True, check=False)
    if not query.stdout.startswith("9.0"):
        return "no Hopper GPU"
    return None if shutil.which("nvcc") else "no nvcc"


def said(source, word):
    """What the comment "// WORD: ..." of a program says."""
    match = re.search(rf"^// {word}: (.*)$", source, re.MULTILINE)
    return match.group(1) if match else ""


def fault(name, work):
    """What is wrong with a program, or None."""
    path = os.path.join(FOLDER, name + ".cu")
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if said(source, "gpu") == "no":
        return None
    program = os.path.join(work, name)
    sources = [path] + [os.path.join(FOLDER, s) for s in said(source, "with").split()]
    build = subprocess.run(["nvcc", "-arch=sm_90", *said(source, "flags").split(), "-o", program,
                            *sources], capture_output=True, text=True, check=False)
    if build.returncode:
        return "nvcc fails:\n" + build.stderr
    run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    with open(os.path.join(FOLDER, name + ".out"), encoding="utf-8") as file:
        wanted = file.read()
    if run.stdout != wanted:
        return f"prints\n{run.stdout}and not\n{wanted}"
    if run.returncode != int(said(source, "status") or 0):
        return f"ends with status {run.returncode}"
    return None


def main():
    os.environ["PATH"] += os.pathsep + TOOLKIT
    reason = missing()
    if reason:
        print(reason)
        return 77
    names = sys.argv[2:] or sorted(os.path.basename(p)[:-3]
                                   for p in glob.glob(os.path.join(FOLDER, "*.cu")))
    faults = 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            wrong = fault(name, work)
            if wrong:
                print(f"{name}: {wrong}")
                faults += 1
    print(f"{len(names)} programs, {faults} differ")
    return 1 if faults else 0


sys.exit(main())
