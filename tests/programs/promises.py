#!/usr/bin/env python3
"""promises.py hashes FIRST: lines KERNEL HASH for the kernels of a profile of exec that have a fix, without hashes of their
own. promises.py compare FIRST SECOND: status 1 where a fix speaks of other conflicts than the first profile counts, or
promises other ones than the second, which was made with these hashes, has."""
import json
import sys


def kernels(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["kernels"]


def fixed(path):
    return [k for k in kernels(path) if k["fix"] and k["hash"] == "none"]


def main():
    first = fixed(sys.argv[2])
    if sys.argv[1] == "hashes":
        for kernel in first:
            print(kernel["mangled"], kernel["fix"]["hash"])
        return 0
    second = {(k["mangled"], k["hash"]): k["conflicts"] for k in kernels(sys.argv[3])}
    status = 0
    for kernel in first:
        fix = kernel["fix"]
        counted = second.get((kernel["mangled"], fix["hash"]))
        if fix["conflicts_before"] != kernel["conflicts"] or fix["conflicts_after"] != counted:
            print(f"{kernel['name']}: {fix}, but {kernel['conflicts']} and then {counted} were counted")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
