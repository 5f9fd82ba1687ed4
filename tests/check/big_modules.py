#!/usr/bin/env python3
"""Large modules cost what they hold, and no more: from 4000 to 8000 kernels, functions, accesses or variables memory
grows by no more than three times as much as from 2000 to 4000 (twice where it is linear, four times where it grows with
the square), and every module must be done. Memory is counted, not time, so that it does not matter what else runs; a
chain of 10,000 calls took hours when work grew with the cube."""
import pathlib
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "bench"))
import bench_rewrite  # noqa: E402
import big_modules  # noqa: E402

SIZES, MOST_RATIO = (2000, 4000, 8000), 3
FEWEST_MB = 64  # of the largest: below, what every process takes hides the rest
NO_LIMIT_SECONDS = 100000


def main():
    """Compares small and large modules of every shape."""
    program = str(pathlib.Path(sys.argv[1]).resolve() / "bankfold")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        place = {"module": f"{folder}/module.ptx", "output": f"{folder}/output.ptx"}

        def peak(shape, size, command):
            """Peak memory in MB; -1: it failed."""
            pathlib.Path(place["module"]).write_text(big_modules.SHAPES[shape](size))
            arguments = [word.format(**place) for word in bench_rewrite.COMMANDS[command]]
            _, megabytes, status = bench_rewrite.measure(program, arguments, NO_LIMIT_SECONDS)
            return megabytes if status == 0 else -1

        for shape in big_modules.SHAPES:
            for command in ("rewrite --hash fixed", "rewrite --explain"):
                part = 2 if "explain" in command else 1  # it also predicts, which takes longer
                small, middle, large = (peak(shape, size // part, command) for size in SIZES)
                if min(small, middle, large) < 0:
                    print(f"{shape}, {command}: failed")
                    faults += 1
                elif large > FEWEST_MB and large - middle > MOST_RATIO * (middle - small):
                    print(f"{shape}, {command}: {small:.0f}, {middle:.0f}, {large:.0f} MB")
                    faults += 1
        pathlib.Path(place["module"]).write_text(big_modules.SHAPES["deep"](10000))
        arguments = [word.format(**place) for word in bench_rewrite.COMMANDS["rewrite --hash fixed"]]
        if bench_rewrite.measure(program, arguments, NO_LIMIT_SECONDS)[2] != 0:
            print("a chain of 10,000 calls: failed")
            faults += 1
    print(f"{len(big_modules.SHAPES)} shapes, {faults} faults")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
