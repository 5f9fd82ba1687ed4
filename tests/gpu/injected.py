#!/usr/bin/env python3
"""The CUDA programs of tests/programs, built by nvcc as they are, print and end the same on the GPU
in this machine with the injection library in them, which rewrites their kernels: with an empty
cache and again with a filled one. Skipped (status 77) without a GPU, nvcc or the library. Run as:
injected.py BUILD_FOLDER [NAME...]
"""
import os
import re
import sys
import tempfile

import programs


def find_library(build):
    """Where the library is: as meson or as gpu/build.sh leaves it."""
    for path in ["inject/libbankfold-inject.so", "libbankfold-inject.so"]:
        if os.path.exists(os.path.join(build, path)):
            return os.path.abspath(os.path.join(build, path))
    return None


def main():
    library = find_library(sys.argv[1])
    reason = programs.missing() or (None if library else "no injection library")
    if reason:
        print(reason)
        return 77
    names = programs.list_names(sys.argv[2:])
    failed = rewritten = from_cache = 0
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        injected = {**os.environ, "LD_PRELOAD": library, "BANKFOLD_HASH": "fixed", "BANKFOLD_LOG": log,
                    "BANKFOLD_CACHE": os.path.join(folder, "cache")}
        for name in names:
            wrong = programs.build(name, folder)
            for turn in ["as it is", "empty cache", "filled cache"]:
                environment = dict(os.environ) if turn == "as it is" else injected
                wrong = wrong or programs.run(name, folder, environment)
                if wrong:
                    print(f"{name}, {turn}: {wrong}")
                    failed += 1
                    break
        with open(log, encoding="utf-8") as file:
            said = file.read()
        rewritten = sum(int(n) for n in re.findall(r"(\d+) of \d+ kernels rewritten", said))
        from_cache = said.count("from the cache")
    print(f"{len(names) - failed} programs are the same with rewritten kernels, {failed} are not; "
          f"{rewritten} kernels were rewritten, {from_cache} images came from the cache")
    if not rewritten or not from_cache:
        print("nothing was rewritten, or nothing came from the cache")
    return 1 if failed or not rewritten or not from_cache else 0


if __name__ == "__main__":
    sys.exit(main())
