#!/usr/bin/env python3
"""What half a warp does at an instruction whose mask names all of it: the cases of split_warps.cu, on the GPU in this machine, or
under `bankfold exec`, also with `--gpu`. A line for each is printed: operation, place, `ends` or `hangs`, and a sum of what the threads have.

    split_warps.py BUILD           on the GPU; skipped (status 77) where there is none
    split_warps.py BUILD --exec    under BUILD/bankfold exec
    split_warps.py BUILD --sim     under BUILD/bankfold exec --gpu h200

The exit status is 1 where a case ends that hangs in tests/data/h200/split_warps.tsv, or the other way round, or ends with another
sum.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "split_warps.cu")
RECORDED = os.path.join(os.path.dirname(os.path.dirname(SOURCE)), "data/h200/split_warps.tsv")
SECONDS = 8  # after which a case hangs on a GPU; those that end take one


def skip(why):
    print(why)
    sys.exit(77)


def outcome(command, seconds):
    """ends, hangs or fails, and the sum that was printed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return "hangs", "-"
    if "ends, sum" in output:
        return "ends", output.split("sum ")[1].split()[0]
    return ("hangs" if "deadlock" in errors or "cannot go on: warps wait" in errors else "fails"), "-"


def recorded():
    """What an H200 did: case -> outcome and sum."""
    cases = {}
    with open(RECORDED, encoding="utf-8") as file:
        for line in file:
            words = line.rstrip("\n").split("\t")
            if not line.startswith("#"):
                cases[words[0], words[1]] = words[2], words[3]
    return cases


def main():
    modes = {(): [], ("--exec",): ["exec", "--"], ("--sim",): ["exec", "--gpu", "h200", "--"]}
    words = modes.get(tuple(sys.argv[2:]))
    if len(sys.argv) < 2 or words is None:
        print(__doc__, file=sys.stderr)
        return 2
    under_exec = bool(words)
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin") or skip("no nvcc")
    if not under_exec and not os.path.exists("/dev/nvidiactl"):
        skip("no GPU")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "split_warps")
        subprocess.run([nvcc, "-O3", "-std=c++17", "-arch=sm_90", "-o", program, SOURCE], check=True)
        listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        cases = [tuple(line.split()) for line in listed.splitlines()]
        before = [os.path.join(sys.argv[1], "bankfold"), *words] if under_exec else []
        with concurrent.futures.ThreadPoolExecutor(1 if under_exec else 6) as pool:
            outcomes = list(pool.map(lambda case: outcome([*before, program, *case], None if under_exec else SECONDS), cases))
    known, faults = recorded(), 0
    for case, (word, total) in zip(cases, outcomes):
        print(*case, word, total, sep="\t")
        expected = known.get(case, ("nothing", "-"))
        if (word, total) != expected:
            print(f"{' '.join(case)}: {word} {total}; an H200: {' '.join(expected)}", file=sys.stderr)
            faults += 1
    if set(known) != set(cases):
        print(f"{RECORDED} has other cases than {SOURCE}", file=sys.stderr)
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
