#!/usr/bin/env python3
"""What can be said of CUDA sources without running them, and what becomes of the patches that suggest writes.

    bench/static_reach.py BUILD SOURCE|FOLDER... [--flag FLAG] [--no-run] [--results FILE]

Every source with shared memory is compiled to PTX with lines. Of each kernel the instructions on shared memory are counted that
are known exactly, on assumptions, or not at all (`scan`). Then `suggest --by least` patches the source without running it,
for launches as the source has them. Of each kernel in which 10% of the wavefronts or more are conflicts it is said whether the
patch changes one of its arrays, whether the patched source compiles and, for sources with a main function, whether the program
prints the same on the emulator (`exec`) before and after, and how many conflicts it has then. A kernel is mended where results are
the same and at least half of its conflicts are gone. Prints JSON lines: one for each file, one for the sum."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SECONDS = 300


def run(command, **more):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "took too long")


def sources_of(paths):
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".cu"))
        else:
            yield path


class Source:
    def __init__(self, options, path, folder):
        self.options, self.path, self.folder = options, path, folder
        self.name = os.path.basename(path)[:-3]
        self.ptx = os.path.join(folder, self.name + ".ptx")
        self.near = ["-I" + os.path.dirname(os.path.abspath(path))]

    def nvcc(self, output, source, *more):
        flags = ["-arch=sm_90", "-std=c++17", "-w", *self.options.flag, *self.near, *more]
        return run(["nvcc", *flags, source, "-o", output]).returncode == 0

    def compile(self):
        return self.nvcc(self.ptx, os.path.abspath(self.path), "-lineinfo", "-ptx")

    def bankfold(self, *words):
        return run([os.path.join(self.options.build, "bankfold"), *words])

    def scan(self):
        """Kernels with their instructions; launches are those of the source, which lies beside its PTX."""
        beside = os.path.join(self.folder, self.name + ".cuh")
        with open(self.path, encoding="utf-8", errors="replace") as source, open(beside, "w", encoding="utf-8") as copy:
            copy.write(source.read())
        done = self.bankfold("scan", self.folder, "--no-cache", "--json", "--top", "100000")
        os.remove(beside)
        return json.loads(done.stdout)["kernels"] if done.returncode == 0 else []

    def suggest(self, patch):
        flags = [word for flag in ("-std=c++17", "-w", *self.options.flag) for word in ("--nvcc-flag", flag)]
        done = self.bankfold("suggest", self.path, *flags, "--by", "least", "--patch", patch, "--json")
        return json.loads(done.stdout)["arrays"] if done.returncode == 0 else None, done.stderr.strip()

    def measure(self, program):
        """What a program prints, and the conflicts of its kernels by name."""
        profile = program + ".json"
        done = self.bankfold("exec", "--as-written", "--profile", profile, program)
        if done.returncode != 0 or not os.path.exists(profile):
            return None, {}
        with open(profile, encoding="utf-8") as file:
            kernels = json.load(file)["kernels"]
        sums = {}
        for kernel in kernels:
            own = sums.setdefault(kernel["mangled"], [0, 0])
            own[0] += kernel["conflicts"]
            own[1] += kernel["wavefronts"]
        return done.stdout, sums


def bad_kernels(arrays):
    """Kernels with 10% conflicts or more: (conflicts, wavefronts, whether an array is patched, reasons)."""
    sums = {}
    for array in arrays:
        own = sums.setdefault(array["kernel"], [0, 0, False, []])
        own[0] += array["conflicts"] or 0
        own[1] += array["wavefronts"] or 0
        own[2] |= array["patched"]
        if array["conflicts"] and not array["patched"]:
            own[3].append(array["no_patch"])
    return {name: own for name, own in sums.items() if own[0] and 10 * own[0] >= own[1]}


def mend(source, patch, result):
    """Applies the patch, compiles both, runs both."""
    patched = os.path.join(source.folder, "patched.cu")
    if run(["patch", "-s", "-o", patched, source.path, patch]).returncode != 0:
        return
    result["compiles"] = source.nvcc(os.path.join(source.folder, "patched.cubin"), patched, "-cubin")
    with open(source.path, encoding="utf-8", errors="replace") as file:
        has_main = " main(" in file.read()
    if not result["compiles"] or not has_main or source.options.no_run:
        return
    programs = [os.path.join(source.folder, name) for name in ("before", "after")]
    if not all(source.nvcc(program, text, "-cudart", "shared") for program, text in zip(programs, (source.path, patched))):
        return
    (printed, before), (printed_after, after) = map(source.measure, programs)
    result["ran"] = printed is not None and printed_after is not None
    result["equal"] = result["ran"] and printed == printed_after
    for name, own in result["bad"].items():
        if own["patched"] and name in before and name in after:
            own["conflicts_before"], own["conflicts_after"] = before[name][0], after[name][0]
            own["mended"] = result["equal"] and 2 * after[name][0] <= before[name][0] and before[name][0] > 0


def look_at(options, path):
    with tempfile.TemporaryDirectory() as folder:
        source = Source(options, path, folder)
        result = {"source": path, "compiled": source.compile(), "bad": {}}
        if not result["compiled"]:
            return result
        kernels = source.scan()
        for name in ("instructions", "exact", "assumed", "unknown"):
            result[name] = sum(kernel[name] for kernel in kernels)
        result["kernels"] = len(kernels)
        patch = os.path.join(folder, "patch.diff")
        arrays, message = source.suggest(patch)
        if arrays is None:
            result["error"] = message
            return result
        for name, own in bad_kernels(arrays).items():
            result["bad"][name] = {"patched": own[2], "reasons": own[3]}
        if os.path.exists(patch):
            mend(source, patch, result)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build")
    parser.add_argument("source", nargs="+")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--results")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    sums = dict.fromkeys(("files", "not_compiled", "kernels", "instructions", "exact", "assumed", "unknown", "bad", "patched",
                          "compiled", "compared", "equal", "mended"), 0)
    lines = []
    for path in sources_of(options.source):
        with open(path, encoding="utf-8", errors="replace") as file:
            if "__shared__" not in file.read():
                continue
        result = look_at(options, path)
        lines.append(json.dumps(result))
        print(lines[-1], flush=True)
        sums["files"] += 1
        sums["not_compiled"] += not result["compiled"]
        for name in ("kernels", "instructions", "exact", "assumed", "unknown"):
            sums[name] += result.get(name, 0)
        for own in result["bad"].values():
            sums["bad"] += 1
            sums["patched"] += own["patched"]
            sums["compiled"] += own["patched"] and result.get("compiles", False)
            sums["compared"] += "conflicts_after" in own
            sums["equal"] += "conflicts_after" in own and result.get("equal", False)
            sums["mended"] += own.get("mended", False)
    lines.append(json.dumps(sums))
    print(lines[-1])
    if options.results:
        with open(options.results, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
