#!/usr/bin/env python3
"""Tables for docs/vote_gpu.md from the CSV of vote_bench: results.py FILE.csv [docs/vote_gpu.md]

Prints Markdown, or puts it between the marks `<!-- results -->` and `<!-- end -->` of a page. For
every problem and kind of data: what it is compared with, the ceiling, the default, and the fastest
parameters of every way. Status 1 where a result is wrong, for then no time means anything.
"""
import csv
import os
import sys
import tempfile

FIRST = ["CUB", "CPU one thread", "copy", "read only", "default", "tuned"]


def read_rows(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = [row for row in rows if row["result"] != "right"]
    for row in wrong:
        print("wrong:", ",".join(row.values()), file=sys.stderr)
    if wrong or not rows:
        sys.exit(1)
    return rows


def groups(rows, keys):
    """Rows with equal keys, in the order in which they first appear."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def fastest(rows):
    """The fastest row of every method and layout: those of FIRST, then by time."""
    best = {}
    for row in rows:
        key = (row["method"], row["parameters"].split(" R=")[0])
        if key not in best or float(row["median_us"]) < float(best[key]["median_us"]):
            best[key] = row
    order = lambda row: (
        FIRST.index(row["method"]) if row["method"] in FIRST else len(FIRST),
        float(row["median_us"]),
    )
    return sorted(best.values(), key=order)


def table(rows):
    lines = [
        "| way | parameters | us | GB/s | ratio | bytes alone, us | wavefronts alone, us |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = ("method", "parameters", "median_us", "gb_per_s", "ratio", "copy_us", "wavefront_us")
    for row in fastest(rows):
        cells = [row[key] for key in keys]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(rows):
    lines = []
    for (problem, size, bins), same in groups(rows, ("problem", "size", "bins")).items():
        against = next((row["against"] for row in same if row["against"]), "nothing")
        lines += [f"### {problem}, {size}, {bins} bins", "", f"Ratios are to: {against}.", ""]
        for (data,), some in groups(same, ("data",)).items():
            lines += [f"{data}:", ""] + table(some) + [""]
    return "\n".join(lines)


def replace(path, text):
    """Puts text between the marks, in a file beside the page that then takes its name."""
    with open(path) as file:
        before, rest = file.read().split("<!-- results -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".")
    with os.fdopen(handle, "w") as file:
        file.write(f"{before}<!-- results -->\n{text}<!-- end -->{after}")
    os.chmod(temporary, os.stat(path).st_mode)
    os.rename(temporary, path)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    text = page(read_rows(sys.argv[1]))
    if len(sys.argv) == 3:
        replace(sys.argv[2], text)
    else:
        print(text)


main()
