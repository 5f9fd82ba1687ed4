#!/usr/bin/env python3
"""promises.py hashes FIRST: lines KERNEL HASH for the kernels of a profile of exec that have a fix, without hashes of their
own. promises.py compare FIRST SECOND: status 1 where a fix speaks of other conflicts than the first profile counts, or
promises other ones than the second, which was made with these hashes, has. promises.py rows FIRST: lines KERNEL=LENGTH for the
kernels whose fix is a longer row of the array; promises.py compare_rows FIRST SECOND: the same for a profile with these rows,
and status 1 also where a fix names another row than arguments KERNEL=LENGTH say that there is."""
import json
import re
import sys


def kernels(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["kernels"]


def fixed(path):
    return [k for k in kernels(path) if k["fix"] and k["hash"] == "none"]


def rows(kernel):
    """(Longer row, row) of a fix, in elements of the array; None: it is no such fix."""
    found = re.match(r"tile\[\]\[(\d+)\] in place of tile\[\]\[(\d+)\]", kernel["fix"]["code"] or "")
    return found and (int(found[1]), int(found[2]))


def compare_rows(first, second, lengths):
    """The faults of fixes by longer rows."""
    counted = {k["name"]: k["conflicts"] for k in kernels(second)}
    own = dict(length.split("=") for length in lengths)
    for kernel in first:
        name, fix = kernel["name"], kernel["fix"]
        if rows(kernel) and rows(kernel)[1] != int(own[name]):
            yield f"{name}: {fix['code']}, but rows have {own[name]} elements"
        if rows(kernel) and fix["conflicts_after"] != counted[name]:
            yield f"{name}: {fix}, but with such rows {counted[name]} were counted"


def main():
    first = fixed(sys.argv[2])
    if sys.argv[1] == "rows":
        for kernel in first:
            if rows(kernel):
                print(f"{kernel['name']}={rows(kernel)[0]}")
        return 0
    if sys.argv[1] == "compare_rows":
        faults = list(compare_rows(first, sys.argv[3], sys.argv[4:]))
        print(*faults, sep="\n", end="\n" if faults else "")
        return 1 if faults else 0
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
