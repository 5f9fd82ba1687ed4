#!/usr/bin/env python3
"""What `run --learn` costs while it learns: programs of bench/strangers that launch for long, as they are and with --learn.

    learning_cost.py BUILD --programs FOLDER [--seconds S] [--rounds N] [NAME...]

BUILD and FOLDER as for never_slower.py. Each program launches each of its kernels as often as takes about S seconds (10). By turns it runs as it is and with
--learn, which knows nothing of it yet: caches of code are filled before, and what was learnt is removed before each run. What is printed is the wall time of
the whole process: the least of N rounds (3) of each way, what learning adds to it in percent, and how far the rounds of the plain program lie apart. A program
that gains by what is learnt has less than 0%. The exit status is 1 where a program does something else with --learn."""
import argparse
import glob
import os
import sys
import tempfile

import never_slower

USUAL = ["cub_device_sort", "cub_device_histogram", "cub_device_scan", "cub_block_sort", "convolve", "particles"]


def forget(build):
    """Removes what was learnt; code that was compiled is kept."""
    for path in glob.glob(os.path.join(build.caches("learn")["BANKFOLD_CACHE"], "learnt-*")):
        os.remove(path)


def run(build, program, mode, launches, options):
    """Seconds of a run, and what it printed."""
    if mode == "learn":
        forget(build)
    ran = never_slower.run_untimed(build, program, mode, launches, options)
    if ran["status"] != 0:
        raise RuntimeError(f"{program.name}, {mode}: status {ran['status']}: {ran['err'][-300:]}")
    return ran


def measure(build, program, options):
    """The row of a program."""
    wrong = program.build()
    if wrong:
        raise RuntimeError(wrong)
    run(build, program, "learn", 20, options)
    short = run(build, program, "plain", 20, options)
    launches = max(100, int(options.seconds * 1e9 / sum(short["calls"].values())))
    walls, printed = {"plain": [], "learn": []}, set()
    for number in range(options.rounds):
        for mode in ("plain", "learn") if number % 2 == 0 else ("learn", "plain"):
            ran = run(build, program, mode, launches, options)
            walls[mode].append(ran["wall_s"])
            printed.add(ran["out"])
    plain, learn = min(walls["plain"]), min(walls["learn"])
    return (f"{program.name:24} {launches:9} {plain:8.2f} {learn:8.2f} {100 * (learn / plain - 1):+8.2f}% "
            f"{100 * (max(walls['plain']) / plain - 1):7.2f}%", len(printed) == 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", default=USUAL)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_intermixed_args()
    options.scale, options.timeout, status = None, 300, 0
    os.makedirs(options.programs, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        build = never_slower.Build(options.build, work)
        print(f"{'program':24} {'launches':>9} {'plain, s':>8} {'learn, s':>8} {'learning':>9} {'noise':>8}", flush=True)
        for name in options.names or USUAL:
            try:
                row, alike = measure(build, never_slower.Program("strangers", name, options.programs), options)
            except RuntimeError as error:
                row, alike = str(error), False
            print(row + ("" if alike else "  NOT ALIKE"), flush=True)
            status |= not alike
    return status


if __name__ == "__main__":
    sys.exit(main())
