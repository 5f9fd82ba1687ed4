#!/usr/bin/env python3
"""The measurement of docs/never_slower.md, as far as it can be tried without a GPU: what is slower, wrong or within noise is
told from times that are made up, and the list of conflicts has every program. Run as: never_slower.py BUILD"""
import argparse
import contextlib
import glob
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import learnt_table  # noqa: E402
import never_slower  # noqa: E402
import speed_table  # noqa: E402

faults = []


def expect(right, what):
    if not right:
        faults.append(what)


def row(program, kernel, before, after, conflicts=None):
    return {"program": program, "kernel": kernel, "launches": 20, "conflicts": conflicts, "said": {},
            "times_ns": {"plain": before, "run": after}}


def told(rows, programs):
    """What the tables say, and how many faults they count."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        count = speed_table.print_all({"rows": rows, "programs": programs})
    return count, text.getvalue()


def check_tables():
    a, b = "strangers/sorts", "strangers/convolve"
    expect(speed_table.half(a) == "A" and speed_table.half(b) == "B", "halves have changed")
    rows = [row(a, "gains", [40e3, 41e3], [20e3, 20.5e3], 0.5), row(b, "gains", [90e3], [30e3], 0.5),
            row(a, "loses", [40e3, 40e3], [41e3, 41e3], 0.0), row(a, "is noisy", [40e3, 44e3], [43e3, 44e3]),
            row(a, "loses once", [40e3], [41e3], 0.0), row(b, "loses little", [40e3], [40.7e3], 0.001), row(b, "is short", [19e3], [38e3], 0.5)]
    calls = {"plain": [{"all": 100e3, "short": 10e3}] * 2, "run": [{"all": 105e3, "short": 10e3}] * 2}
    programs = [{"program": a, "faults": {}}, {"program": b, "faults": {}, "calls_ns": calls},
                {"program": "strangers/streams", "faults": {"run": "another output"}},
                {"program": "strangers/graphs", "faults": {"plain": "nvcc fails"}}]
    count, text = told(rows, programs)
    # three kernels, the program that measured itself, one that is wrong and one that could not be measured
    expect(count == 6, f"{count} faults are counted, not 6:\n{text}")
    for line in ["slower: strangers/sorts loses: 0.976, beyond the noise of 0.0%",
                 "slower: strangers/sorts is noisy: 0.966, within the noise of 9.5%",
                 "slower: strangers/sorts loses once: 0.976, in one round, whose noise is not known",
                 "slower: strangers/convolve: 0.952, beyond", "wrong: strangers/streams: another output",
                 "not measured: strangers/graphs: nvcc fails", "| kernels with conflicts | 2.000 (1) | 3.000 (1) | 2.449 (2) | 2.000 | A | strangers/sorts gains |",
                 "| kernels not counted | 0.966 (1) | - | 0.966 (1) | 0.966 | A | strangers/sorts is noisy |",
                 "| kernels of strangers with a hash | - | - | - | - | - | - |"]:
        expect(line in text, f"no line '{line}' in:\n{text}")
    expect("is short" not in text and "slower: strangers/convolve loses little" not in text, "too much is judged:\n" + text)
    expect(told(rows[:2], programs[:1])[0] == 0, "faults are counted where there are none")


def check_readers():
    """Times that the library writes, and those of gpu/measure."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "times.1")
        with open(path, "w", encoding="utf-8") as file:
            file.write("bankfold times 1\nlaunches\tkernel=k\thash=fixed\tblocks=8\tthreads=64\tlaunches=10\ttotal_ns=1\t"
                       "median_ns=300\tleast_ns=1\nlaunches\tkernel=k\treason=why\tblocks=8\tthreads=64\tlaunches=30\t"
                       "total_ns=1\tmedian_ns=100\tleast_ns=1\nend\n")
        read = never_slower.read_times([path])
    expect(read == {"k 8x64": [40, 150.0, "fixed / left alone: why"]}, f"times are read as {read}")
    header = ("benchmark,way,scale,seed,launch,kernel,hash,blocks,registers,local_bytes,static_bytes,dynamic_bytes,"
              "median_ns,least_ns,elements,result")
    text = f"{header}\nb,plain,1,0,0,k,,8,20,0,0,0,5000,4000,64,right\nb,xor,1,0,0,k,h,8,20,0,0,0,1,1,64,right\n"
    expect(never_slower.read_csv(text) == {"k 0": [21, 5000.0, ""]}, "the CSV of gpu/measure is read otherwise")


def check_saving():
    """Everything is in the files after each program, and a program that fails loses none of the others."""
    class Stub:
        def __init__(self, name):
            self.kind, self.name, self.key, self.wanted_status = "corpus", name, "corpus/" + name, 0

    seen = []

    def ran(_build, program, mode, _launches, _options):
        with open(path, encoding="utf-8") as file:
            seen.append(len(json.load(file)["rows"]))
        ns = {"plain": 40e3, "run": 20e3}[mode]
        return {"rows": {"k 0": [21, ns, ""]}, "status": 0, "out": program.name, "err": "", "wall_s": 0}

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.json")
        options = argparse.Namespace(output=path, modes="plain,run", rounds=1, seconds=9, launches=1, scale=None)
        never_slower.run_once = ran
        never_slower.prepare = lambda *_: None
        never_slower.show = lambda _: None
        never_slower.measure(None, [never_slower.Measured(Stub(name)) for name in ("a", "b", "c")], options, {})
        with open(os.path.join(folder, "found.md"), encoding="utf-8") as file:
            expect("| all kernels |" in file.read(), "no tables are saved")
        expect(sorted(os.listdir(folder)) == ["found.json", "found.md"], "something else is left")
    expect(seen == [0, 0, 1, 1, 2, 2], f"programs are saved late: {seen}")


def check_others():
    """Programs of a file: they run where it lies, and lines that differ from run to run do not count."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "others.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# programs\nnbody ./nbody 'a b'  # small\n\n")
        (program,) = never_slower.list_others(path)
    expect(program.key == "others/nbody" and program.arguments(None, 20) == ["./nbody", "a b"] and
           program.folder == os.path.abspath(folder), "a file of programs is read otherwise")
    measured = never_slower.Measured(program)
    for mode, out, status, is_fault in [("plain", "a\n1 ms\nb", 3, False), ("plain", "a\n2 ms\nb", 3, False),
                                        ("run", "a\n3 ms\nb", 3, False), ("run", "a\n3 ms\nc", 3, True),
                                        ("learn", "a\n3 ms\nb", 0, True)]:
        measured.take(mode, {"out": out, "status": status, "err": "", "rows": {}}, True)
        expect((mode in measured.faults) == is_fault, f"{mode} {out!r} {status}: {measured.faults}")


def check_conflicts():
    """Every program and benchmark is in the list, and every program says what scale it has on a GPU."""
    with open(never_slower.CONFLICTS, encoding="utf-8") as file:
        listed = set(json.load(file))
    for path in glob.glob(os.path.join(never_slower.STRANGERS, "*.cu")):
        name = os.path.basename(path)[:-3]
        expect("strangers/" + name in listed, f"{name} is not in conflicts.json")
        with open(path, encoding="utf-8") as file:
            expect(never_slower.tests.said(file.read(), "gpu").isdigit(), f"{name}: no comment // gpu: SCALE")
    with open(os.path.join(ROOT, "gpu", "corpus.scales"), encoding="utf-8") as file:
        for line in file:
            expect(line.startswith("#") or "corpus/" + line.split()[0] in listed, f"not in conflicts.json: {line}")


def check_modes():
    """Modes are what they are called, also where there is only the library; and what learning changes is listed."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "libbankfold-inject.so"), "w", encoding="utf-8"):
            build = never_slower.Build(folder, folder)
        wanted = {"plain": set(), "run": {"LD_PRELOAD", "BANKFOLD_HASH"},
                  "learn": {"LD_PRELOAD", "BANKFOLD_HASH", "BANKFOLD_LEARN"},
                  "tune": {"LD_PRELOAD", "BANKFOLD_HASH", "BANKFOLD_HASHES"}}
        for mode, names in wanted.items():
            _, environment = build.command(["program"], mode, "hashes", False)
            own = {name for name in environment if "CACHE" not in name and "STATE" not in name}
            expect(own == names, f"{mode} sets {own}")
    rows = [row("strangers/sorts", "k", [60e3], [50e3], 0.5), row("strangers/sorts", "l", [60e3], [60e3], 0.5)]
    for one, ns in zip(rows, (30e3, 60e3)):
        one["times_ns"]["learn"] = [ns]
    with contextlib.redirect_stdout(io.StringIO()) as text:
        learnt_table.print_table(rows)
    expect("| k | 1.200 | 2.000 | ? |" in text.getvalue() and "| l |" not in text.getvalue(), text.getvalue())


check_tables()
check_modes()
check_readers()
check_saving()
check_others()
check_conflicts()
print("\n".join(faults) or "times are judged as they must be")
sys.exit(1 if faults else 0)
