#!/usr/bin/env python3
"""The CUDA programs of tests/programs on the GPU in this machine print what they print on the
emulator: what is written beside them. Those whose comment says that they show a limit of the
emulator (`// only: exec`) are left out. Skipped (status 77) without a GPU or nvcc. Run as:
programs.py BUILD_FOLDER [NAME...]
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def said(source, word):
    """What the comment "// WORD: ..." of a program says."""
    found = re.search(rf"^// {word}: (.*)$", source, re.M)
    return found.group(1) if found else ""


def run(name, source, folder):
    """None where the program prints and ends as it must, else what is wrong."""
    flags = said(source, "flags").split()
    if not any("arch" in flag for flag in flags):
        flags.append("-arch=sm_90")
    program = os.path.join(folder, name)
    sources = [name + ".cu", *said(source, "with").split()]
    built = subprocess.run(["nvcc", *flags, "-o", program, *("tests/programs/" + s for s in sources)],
                           capture_output=True, text=True, check=False)
    if built.returncode:
        return "nvcc fails: " + built.stderr[-500:]
    ran = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    with open(f"tests/programs/{name}.out", encoding="utf-8") as file:
        expected = file.read()
    if ran.stdout != expected:
        lines = zip(ran.stdout.split("\n") + [""], expected.split("\n") + [""])
        first = next(((a, b) for a, b in lines if a != b), ("", ""))
        return f"prints '{first[0]}', not '{first[1]}'"
    if ran.returncode != int(said(source, "status") or 0):
        return f"status {ran.returncode}"
    return None


def main():
    if not shutil.which("nvidia-smi") or not shutil.which("nvcc"):
        print("no NVIDIA GPU" if not shutil.which("nvidia-smi") else "no nvcc")
        return 77
    if subprocess.run(["nvidia-smi"], capture_output=True, check=False).returncode:
        print("no NVIDIA GPU")
        return 77
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    names = sys.argv[2:] or sorted(os.path.basename(p)[:-3] for p in glob.glob("tests/programs/*.cu"))
    good = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            with open(f"tests/programs/{name}.cu", encoding="utf-8") as file:
                source = file.read()
            if said(source, "only") == "exec":
                print(f"{name}: left out, it shows a limit of the emulator")
                continue
            fault = run(name, source, folder)
            good += fault is None
            wrong += fault is not None
            print(f"{name}: {fault or 'equal'}")
    print(f"{good} of {good + wrong} programs print the same on the GPU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
