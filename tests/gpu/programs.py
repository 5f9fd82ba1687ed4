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

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.path.join(ROOT, "tests", "programs")


def source_of(name):
    with open(os.path.join(FOLDER, name + ".cu"), encoding="utf-8") as file:
        return file.read()


def said(source, word):
    """What the comment "// WORD: ..." of a program says."""
    found = re.search(rf"^// {word}: (.*)$", source, re.M)
    return found.group(1) if found else ""


def missing():
    """Why programs cannot run here, or None."""
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi"], capture_output=True, check=False).returncode:
        return "no NVIDIA GPU"
    return None if shutil.which("nvcc") else "no nvcc"


def list_names(asked):
    """The programs asked for, or all, but for those that are only for the emulator."""
    names = asked or sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(FOLDER, "*.cu")))
    return [name for name in names if said(source_of(name), "only") != "exec"]


def build(name, folder):
    """Builds a program into the folder; None, or what is wrong."""
    source = source_of(name)
    flags = said(source, "flags").split()
    if not any("arch" in flag for flag in flags):
        flags.append("-arch=sm_90")
    for module, form in ((m, f) for m in said(source, "module").split() for f in ("ptx", "fatbin")):
        subprocess.run(["nvcc", "-lineinfo", "-arch=sm_90", "-" + form, f"tests/programs/modules/{module}.cu",
                        "-o", os.path.join(folder, f"{module}.{form}")], check=True, cwd=ROOT)
    sources = [name + ".cu", *said(source, "with").split()]
    built = subprocess.run(["nvcc", *flags, "-o", os.path.join(folder, name),
                            *(os.path.join("tests/programs", s) for s in sources)],
                           capture_output=True, text=True, check=False, cwd=ROOT)
    return "nvcc fails: " + built.stderr[-500:] if built.returncode else None


def run(name, folder, environment):
    """None where the program prints and ends as it must, else what is wrong."""
    ran = subprocess.run([os.path.join(folder, name)], capture_output=True, text=True, check=False, timeout=60,
                         env=environment, cwd=ROOT)
    with open(os.path.join(FOLDER, name + ".out"), encoding="utf-8") as file:
        expected = file.read()
    if ran.stdout != expected:
        lines = zip(ran.stdout.split("\n") + [""], expected.split("\n") + [""])
        first = next(((a, b) for a, b in lines if a != b), ("", ""))
        return f"prints '{first[0]}', not '{first[1]}'"
    if ran.returncode != int(said(source_of(name), "status") or 0):
        return f"status {ran.returncode}"
    return None


def main():
    if missing():
        print(missing())
        return 77
    names = list_names(sys.argv[2:])
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            fault = build(name, folder) or run(name, folder, dict(os.environ))
            if fault:
                print(f"{name}: {fault}")
                wrong += 1
    print(f"{len(names) - wrong} programs print the same, {wrong} do not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
