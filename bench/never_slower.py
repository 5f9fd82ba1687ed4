#!/usr/bin/env python3
"""Whether programs are ever slower, or wrong, under `bankfold run` (docs/never_slower.md). Needs a GPU and nvcc.

    never_slower.py BUILD [options] [SET/NAME...]
    never_slower.py BUILD --others FILE [options]

BUILD is a folder of meson, or one of gpu/build.sh. Where it has no program `bankfold`, its library is loaded before
programs with BANKFOLD_HASH=auto. Each program of bench/strangers, tests/programs and the corpus is run by turns as it is and in
the other modes; its times are those of the library, which leaves code alone in plain runs (BANKFOLD_HASH=none), and those
of the corpus are its own; in further runs programs of bench/strangers measure themselves. --others measures programs that
are built already, anybody's: a line of FILE is a name and a command, which runs where FILE lies. The exit status is 1 where a kernel is slower by more than 2% or a program does something else.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path += [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests", "gpu")]
import programs as tests  # noqa: E402  tests/gpu/programs.py
import speed_table  # noqa: E402

STRANGERS = os.path.join(ROOT, "bench", "strangers")
CONFLICTS = os.path.join(STRANGERS, "conflicts.json")
MODES = ["plain", "run", "learn", "tune"]
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def call(command, timeout, environment=None, folder=ROOT):
    """Status, output, errors and seconds of a command; what it started ends with it."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", cwd=folder, start_new_session=True,
                          env={**os.environ, **(environment or {})}) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return "timeout", out, err, time.monotonic() - start
    return process.returncode, out, err, time.monotonic() - start


class Build:
    """What is in the build folder, and how programs are run by it."""

    def __init__(self, folder, work):
        self.folder, self.work = os.path.abspath(folder), work
        self.library = self.find("inject/libbankfold-inject.so", "libbankfold-inject.so")
        self.measure = self.find("gpu/measure", "measure")
        self.bankfold = self.find("bankfold")
        if self.bankfold and call([self.bankfold, "--version"], 20)[0] != 0:
            self.bankfold = None

    def find(self, *paths):
        found = [os.path.join(self.folder, path) for path in paths]
        return next((path for path in found if os.path.exists(path)), None)

    def caches(self, mode):
        """Variables: caches that start empty, and that a mode has for itself."""
        folders = {name: os.path.join(self.work, name + "-" + mode) for name in
                   ("BANKFOLD_CACHE", "CUDA_CACHE_PATH", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
        for folder in folders.values():
            os.makedirs(folder, exist_ok=True)
        return folders

    def command(self, program, mode, hashes, timed):
        """The command and the variables that run a program in a mode. Where a plain run is timed, the library is loaded
        and leaves all code alone."""
        environment = self.caches(mode)
        if mode == "plain":
            if timed:
                environment.update({"LD_PRELOAD": self.library, "BANKFOLD_HASH": "none"})
            return program, environment
        options = {"run": [], "learn": ["--learn"], "tune": ["--hash-file", hashes]}[mode]
        if self.bankfold:
            return [self.bankfold, "run", *options, *program], environment
        environment.update({"LD_PRELOAD": self.library, "BANKFOLD_HASH": "auto"})
        environment.update({"run": {}, "learn": {"BANKFOLD_LEARN": "1"}, "tune": {"BANKFOLD_HASHES": hashes}}[mode])
        return program, environment


class Program:
    """A program of a set: how it is built and called."""

    def __init__(self, kind, name, folder, command=None):
        self.kind, self.name, self.key, self.command = kind, name, f"{kind}/{name}", command
        self.folder = folder if kind == "others" else ROOT  # where it runs
        self.path = os.path.join(folder, kind + "-" + name)
        self.wanted_status = 0
        self.hashes = self.path + ".hashes"

    def is_built(self):
        folder = STRANGERS if self.kind == "strangers" else tests.FOLDER
        return os.path.exists(self.path) and os.path.getmtime(self.path) > max(map(os.path.getmtime, glob.glob(
            os.path.join(folder, self.name + ".cu")) + glob.glob(os.path.join(folder, "*.h"))))

    def build(self):
        """Builds it, unless that was done before; None, or what is wrong."""
        if self.kind == "tests":
            self.wanted_status = int(tests.said(tests.source_of(self.name), "status") or 0)
        if self.kind in ("corpus", "others") or self.is_built():
            return None
        if self.kind == "tests":
            wrong = tests.build(self.name, os.path.dirname(self.path))
            if not wrong:
                os.replace(os.path.join(os.path.dirname(self.path), self.name), self.path)
            return wrong
        status, _, err, _ = call([NVCC, "-O3", "-std=c++17", "-arch=sm_90", "-lineinfo", *SHARED, "-o", self.path,
                                  os.path.join(STRANGERS, self.name + ".cu")], 600)
        return f"nvcc fails: {err[-300:]}" if status else None

    def arguments(self, build, launches, scale=None):
        """The command that runs it as it is, at its usual scale or another; scale 1 is the smallest."""
        if self.kind == "corpus":
            return [build.measure, "gpu/corpus.scales", "/dev/null", *(["--once"] if scale == 1 else []), self.name]
        if self.kind in ("tests", "others"):
            return self.command or [self.path]
        with open(os.path.join(STRANGERS, self.name + ".cu"), encoding="utf-8") as file:
            usual = tests.said(file.read(), "gpu")
        return [self.path, str(scale or usual), str(launches)]


SHARED = ["-cudart", "shared"] if os.environ.get("NEVER_SLOWER_SHARED") else []


def list_others(path):
    """Programs of a file of names and commands; # begins a comment."""
    folder = os.path.dirname(os.path.abspath(path))
    with open(path, encoding="utf-8") as file:
        lines = [shlex.split(line, comments=True) for line in file]
    return [Program("others", line[0], folder, line[1:]) for line in lines if len(line) > 1]


def list_programs(options, folder):
    if options.others:
        return list_others(options.others)
    names = {"strangers": sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(STRANGERS, "*.cu"))),
             "tests": tests.list_names([]), "corpus": []}
    with open(os.path.join(ROOT, "gpu", "corpus.scales"), encoding="utf-8") as file:
        names["corpus"] = [line.split()[0] for line in file if line.strip() and not line.startswith("#")]
    all_of_them = [Program(kind, name, folder) for kind in options.sets.split(",") for name in names[kind]]
    return [p for p in all_of_them if not options.names or p.key in options.names]


def read_times(paths):
    """Rows of BANKFOLD_TIMES files: (kernel, blocks, threads) -> [launches, ns of a launch, what was done]. Rows of one kernel
    and size that differ in what was done are one, by the mean over launches."""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                word, *fields = line.rstrip("\n").split("\t")
                if word != "launches":
                    continue
                told = dict(field.split("=", 1) for field in fields if "=" in field)
                key = f"{told['kernel']} {told['blocks']}x{told['threads']}"
                count, ns = int(told["launches"]), float(told["median_ns"])
                before = rows.get(key, [0, 0.0, ""])
                said = told.get("hash") or ("left alone: " + told["reason"] if "reason" in told else "")
                said = before[2] if said in before[2] else (before[2] + " / " + said).strip(" /")
                rows[key] = [before[0] + count, (before[0] * before[1] + count * ns) / (before[0] + count), said]
    return rows


def read_csv(text):
    """The same for what gpu/measure prints, whose times are its own."""
    lines = [line.split(",") for line in text.strip().split("\n")]
    rows = {}
    for line in lines[1:]:
        told = dict(zip(lines[0], line))
        if told.get("way") == "plain" and told.get("median_ns", "").replace(".", "").isdigit():
            rows[f"{told['kernel']} {told['launch']}"] = [21, float(told["median_ns"]), ""]
    return rows


def what_counts(program, out):
    """What must be the same in every mode: all that is printed, and of the corpus the results."""
    if program.kind != "corpus":
        return out
    lines = [line.split(",") for line in out.strip().split("\n")]
    return "\n".join(",".join([line[0], line[5], *line[-2:]]) for line in lines if len(line) > 6)


def run_once(build, program, mode, launches, options):
    """One run of a program: its times by kernel, status, output, and seconds."""
    folder = tempfile.mkdtemp(dir=build.work)
    command, environment = build.command(program.arguments(build, launches, options.scale), mode, program.hashes,
                                         program.kind != "corpus")
    if program.kind != "corpus":
        environment["BANKFOLD_TIMES"] = os.path.join(folder, "times.%p")
    status, out, err, seconds = call(command, options.timeout, environment, program.folder)
    rows = read_csv(out) if program.kind == "corpus" else read_times(glob.glob(os.path.join(folder, "times.*")))
    shutil.rmtree(folder)
    return {"rows": rows, "status": status, "out": what_counts(program, out), "err": err, "wall_s": seconds}


def run_untimed(build, program, mode, launches, options):
    """The same without the library's times: exactly what a user would call. Its times are those that it prints itself."""
    command, environment = build.command(program.arguments(build, launches, options.scale), mode, program.hashes, False)
    status, out, err, seconds = call(command, options.timeout, environment, program.folder)
    calls = {name: float(ns) for name, ns in re.findall(r"^time (\S+) \d+ (\d+) \d+$", err, re.M)}
    return {"rows": {}, "calls": calls, "status": status, "out": what_counts(program, out), "err": err, "wall_s": seconds}


class Measured:
    """All that is known of a program."""

    def __init__(self, program):
        self.program, self.rows, self.faults, self.walls, self.wanted = program, {}, {}, {}, None
        self.first = {}  # mode -> seconds of the first run, with empty caches
        self.calls = {}  # mode -> for each round, what the program itself measured: name -> ns

    def take(self, mode, ran, counts):
        """Adds a run; its times only where it counts, and only where it did what the first plain run did."""
        if self.program.kind == "others" and self.wanted is None and mode == "plain" and ran["status"] != "timeout":
            self.program.wanted_status = ran["status"]
        if ran["status"] != self.program.wanted_status:
            self.faults.setdefault(mode, f"status {ran['status']}: {(ran['out'] + ran['err'])[-200:]}".replace("\n", " / "))
            return
        if self.wanted is None and mode == "plain":
            self.wanted = ran["out"]
        if self.program.kind == "others" and mode == "plain":
            self.wanted = keep_alike(self.wanted, ran["out"])
        if not is_alike(ran["out"], self.wanted):
            self.faults.setdefault(mode, "another output: " + first_difference(ran["out"], self.wanted or ""))
            return
        if not counts:
            return
        for kernel, (launches, ns, said) in ran["rows"].items():
            row = self.rows.setdefault(kernel, {"launches": launches, "times_ns": {}, "said": {}})
            row["times_ns"].setdefault(mode, []).append(ns)
            row["said"][mode] = said

    def as_rows(self, conflicts):
        own = {plain_name(name): share for name, share in conflicts.get(self.program.key, {}).items()}
        for kernel, row in self.rows.items():
            share = own.get(plain_name(kernel.split(" ")[0]))
            yield {"program": self.program.key, "kernel": kernel, "conflicts": share, **row}


def keep_alike(wanted, out):
    """What two runs of a program print alike, line by line; None stands for a line with a time or the like in it, or for
    all where they differ in length."""
    lines, others = wanted.split("\n") if isinstance(wanted, str) else wanted, out.split("\n")
    return [a if a == b else None for a, b in zip(lines, others)] if len(lines) == len(others) else [None]


TIMES = re.compile(r"[\d.]+(?:e[-+]?\d+)?")


def is_time(line, wanted):
    """Whether lines differ in numbers only, and speak of time or speed: two runs may well print the same one."""
    return TIMES.sub("#", line) == TIMES.sub("#", wanted) and re.search(r"time|sec|\bms\b|\bus\b|/s\b|clock|copy", line, re.I)


def is_alike(out, wanted):
    """Whether a program prints what a plain run printed, or what its plain runs agree upon."""
    if not isinstance(wanted, list):
        return out == wanted
    lines = out.split("\n")
    return wanted == [None] or len(lines) == len(wanted) and all(
        b in (None, a) or is_time(a, b) for a, b in zip(lines, wanted))


def plain_name(kernel):
    """The name without the version of CUB, which may be another one here."""
    return re.sub(r"\d+CUB_\d+_SM_\d+", "", kernel)


def first_difference(got, wanted):
    lines = wanted.split("\n") if isinstance(wanted, str) else wanted
    pairs = zip(got.split("\n") + [""], lines + [""])
    return next((f"'{a}', not '{b}'" for a, b in pairs if b is not None and a != b), "")[:200]


def prepare(build, measured, mode, options):
    """What a mode needs before it is measured: hashes that were tuned, or choices that were learnt; filled caches, and a GPU
    that is as warm in all modes."""
    program = measured.program
    if mode == "tune" and not os.path.exists(program.hashes):
        command = [build.bankfold, "tune", "--ignore-output", "--repeats", "1", "--output", program.hashes,
                   *program.arguments(build, 5, options.scale)]
        status, _, err, _ = call(command, 10 * options.timeout, build.caches(mode))
        if status != 0 or not os.path.exists(program.hashes):
            measured.faults.setdefault(mode, f"tune: status {status}: {err[-200:]}".replace("\n", " / "))
            return
    launches = options.launches * (10 if mode == "learn" else 1)
    for _ in range(2 if program.kind == "others" and mode == "plain" else 1):  # what they print alike counts
        ran = run_untimed(build, program, mode, launches, options)
        measured.first.setdefault(mode, ran["wall_s"])
        measured.take(mode, ran, False)


def show(text):
    print(text, file=sys.stderr, flush=True)


def replace_file(path, text):
    """Writes a file that is whole at any moment."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def save(options, every, conflicts):
    """Writes what is known by now, as JSON and as tables, so that a run that is cut off loses one program at most."""
    found = {"rows": [row for m in every for row in m.as_rows(conflicts)],
             "programs": [{"program": m.program.key, "faults": m.faults, "wall_s": m.walls, "first_s": m.first,
                           "calls_ns": m.calls} for m in every]}
    replace_file(options.output, json.dumps(found, indent=1))
    with contextlib.redirect_stdout(io.StringIO()) as tables:
        speed_table.print_all(found)
    replace_file(os.path.splitext(options.output)[0] + ".md", tables.getvalue())
    return found


def build_all(every):
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for measured, wrong in zip(every, pool.map(lambda m: m.program.build(), every)):
            if wrong:
                measured.faults["plain"] = wrong
                show(f"{measured.program.key}: {wrong}")
    show(f"built {len(every)} programs in {time.monotonic() - start:.0f} s")


def measure_program(build, measured, options, modes, number):
    """One round of a program: every mode in turn; a program that fails as it is is left out. All is prepared before: learning
    launches often, and a GPU that was busy for long is slower for a while."""
    for mode in modes[:1] + modes[:0:-1] if number == 0 else []:  # the longest runs are not the last
        if "plain" not in measured.faults:
            prepare(build, measured, mode, options)
    for mode in modes if number % 2 == 0 else modes[::-1]:
        if mode in measured.faults or "plain" in measured.faults:
            continue
        measured.take(mode, run_once(build, measured.program, mode, options.launches, options), True)
        if measured.program.kind in ("strangers", "others"):
            own = run_untimed(build, measured.program, mode, options.launches, options)
            measured.take(mode, own, False)
            measured.walls.setdefault(mode, []).append(own["wall_s"])
            measured.calls.setdefault(mode, []).append(own["calls"])


def measure(build, every, options, conflicts):
    """Rounds over all programs, every other one in reverse order."""
    start, modes = time.monotonic(), options.modes.split(",")
    found = save(options, every, conflicts)
    for number in range(options.rounds):
        if number > 0 and time.monotonic() - start > options.seconds * number / (number + 1):
            show(f"no time for round {number + 1}")
            break
        for measured in every:
            if "plain" not in measured.faults and (measured.program.kind != "tests" or number == 0 or options.names):
                measure_program(build, measured, options, modes, number)
                found = save(options, every, conflicts)
        show(f"round {number + 1}: {time.monotonic() - start:.0f} s")
    return found


def sanitize_one(job):
    """Errors that a tool of compute-sanitizer counts in a run at the smallest size, and kernels that were rewritten."""
    build, program, mode, tool = job
    log = tempfile.mktemp(dir=build.work)
    command, environment = build.command(program.arguments(build, 1, 1), mode, program.hashes, False)
    environment = {**environment, "BANKFOLD_LOG": log} if mode != "plain" else environment
    tool_command = [shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer", "--tool", tool,
                    "--target-processes", "all", *command]
    status, out, err, _ = call(tool_command, 300, environment)
    count = re.search(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", out + err)
    rewritten = 0
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as file:
            rewritten = sum(int(n) for n in re.findall(r"(\d+) of \d+ kernels rewritten", file.read()))
    return (count.group(1) or count.group(2) if count else f"no summary, status {status}"), rewritten


def sanitize(build, every, options):
    """A line for each program and tool. What is wrong: other counts than as they are, no counts, or nothing rewritten."""
    modes = [mode for mode in options.modes.split(",") if mode != "tune"]
    jobs = [(build, m.program, mode, tool) for m in every if "plain" not in m.faults for tool in ("memcheck", "racecheck")
            for mode in modes]
    print("| program | tool | " + " | ".join(f"errors, {mode}" for mode in modes) + " | kernels rewritten |")
    print("|---|---|" + "---:|" * (len(modes) + 1))
    bad = total = 0
    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count())) as pool:
        results = list(pool.map(sanitize_one, jobs))
    for i in range(0, len(jobs), len(modes)):
        counts = [count for count, _ in results[i:i + len(modes)]]
        rewritten = max(n for _, n in results[i:i + len(modes)])
        bad += any(count != counts[0] for count in counts[1:]) or not counts[0].isdigit()
        total += rewritten
        print(f"| {jobs[i][1].key} | {jobs[i][3]} | " + " | ".join(counts) + f" | {rewritten} |", flush=True)
    print(f"\n{len(jobs) // len(modes)} pairs, {bad} with other counts than the program as it is, or none; "
          f"{total} kernels were rewritten")
    return bad or total == 0


def count_conflicts(build, every):
    """For each program and kernel, the share of its wavefronts that are conflicts, on the emulator, at the smallest size."""
    shares = {}
    for measured in every:
        program = measured.program
        if program.kind == "corpus":
            _, out, _, _ = call([build.bankfold, "corpus", "--json", "--launches", program.name], 600)
            launches = json.loads(out)["benchmarks"][0]["launches"]
            found = {k["kernel"]: (k["conflicts"], sum(k["wavefronts_" + op] for op in ("load", "store", "atomic")))
                     for k in launches}
        else:
            _, out, err, _ = call([build.bankfold, "exec", "--json", "--workers", "1", program.path], 600)
            if not out.startswith("{"):
                show(f"{program.key}: {err[-200:]}")
                continue
            found = {k["mangled"]: (k["conflicts"], k["wavefronts"]) for k in json.loads(out)["kernels"]}
        shares[program.key] = {name: round(c / w, 4) if w else 0 for name, (c, w) in sorted(found.items())}
        show(f"{program.key}: {len(found)} kernels")
    with open(CONFLICTS, "w", encoding="utf-8") as file:
        json.dump(shares, file, indent=1, sort_keys=True)
        file.write("\n")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", metavar="SET/NAME")
    parser.add_argument("--sets", default="strangers", help="strangers, tests, corpus, with commas")
    parser.add_argument("--others", metavar="FILE", help="programs that are built: a name and a command in each line")
    parser.add_argument("--modes", default="plain,run", help="plain, run, learn, tune, with commas; plain is first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=20, help="timed launches of each kernel")
    parser.add_argument("--scale", type=int, help="of bench/strangers, instead of what each program says; 1 is the smallest")
    parser.add_argument("--timeout", type=float, default=60, help="seconds of one run")
    parser.add_argument("--seconds", type=float, default=330, help="no round is begun that would end after these")
    parser.add_argument("--programs", metavar="FOLDER", help="where built programs stay, for another time")
    parser.add_argument("--output", default="never_slower.json", help="also written as tables, with the ending .md")
    parser.add_argument("--sanitize", action="store_true", help="count errors of compute-sanitizer instead")
    parser.add_argument("--build", action="store_true", dest="only_builds", help="build the programs and end; needs no GPU")
    parser.add_argument("--conflicts", action="store_true", help="write bench/strangers/conflicts.json; needs no GPU")
    options = parser.parse_intermixed_args()
    if any(mode not in MODES for mode in options.modes.split(",")) or not options.modes.startswith("plain"):
        parser.error("modes are plain and any of " + ", ".join(MODES[1:]))
    return options


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as work:
        build = Build(options.build, work)
        folder = os.path.abspath(options.programs or work)
        os.makedirs(folder, exist_ok=True)
        every = [Measured(program) for program in list_programs(options, folder)]
        if options.conflicts:
            SHARED[:] = ["-cudart", "shared"]
            build_all(every)
            count_conflicts(build, every)
            return 0
        if options.only_builds:
            build_all(every)
            return 1 if any(measured.faults for measured in every) else 0
        if tests.missing() or not build.library:
            print(tests.missing() or "no injection library in " + options.build)
            return 77
        if not build.bankfold:
            show("no program bankfold there that runs: its library is loaded with BANKFOLD_HASH=auto")
        with open(CONFLICTS, encoding="utf-8") as file:
            conflicts = json.load(file)
        build_all(every)
        if options.sanitize:
            return 1 if sanitize(build, every, options) else 0
        return 1 if speed_table.print_all(measure(build, every, options, conflicts)) else 0


if __name__ == "__main__":
    sys.exit(main())
