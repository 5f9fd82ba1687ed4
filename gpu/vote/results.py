#!/usr/bin/env python3
"""Tables for docs/vote_gpu.md and bench/results from the CSV of vote_bench:

  results.py FILE.csv                 prints all of them
  results.py FILE.csv PAGE            puts them into a page, where it has their marks
  results.py --check FILE.csv PAGE    status 1: the page shows something else

A mark is a line `<!-- NAME -->`; the table stands between it and the next `<!-- end -->`. Status 1
where a result is wrong, for then no time means anything.
"""
import csv
import math
import os
import re
import sys
import tempfile

ALL_DATA = ["constant", "natural", "random", "two values", "gradient"]
EDGES = ["10% edges", "21% edges", "50% edges"]

# What has to be reached: problem, size, bins, data, ratio. Bins of Hough transforms are their spaces.
BARS = [
    ("8 bits", "8192x8192", "256", ["natural", "random"], 1.3),
    ("8 bits", "8192x8192", "256", ALL_DATA, 1.0),
    ("12 bits", "1536x1024", "256", ALL_DATA, 2.5),
    ("12 bits", "1536x1024", "4096", ALL_DATA, 3.0),
    ("12 bits", "8192x4096", "4096", ALL_DATA, 3.0),
    ("float weights", "4096x4096", "256", ["constant"], 10.0),
    ("float weights", "4096x4096", "256", ["natural"], 2.0),
    ("Hough polar", "1536x1024", None, EDGES, 20.0),
    ("Hough Cartesian", "1536x1024", None, EDGES, 20.0),
]
# Not ways of ours.
OTHERS = ["CUB", "CPU one thread", "copy", "read only", "default", "tuned"]


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


def only(rows, method):
    """The row of a method that stands once; None: there is none."""
    return next((row for row in rows if row["method"] == method), None)


def cell(row, key):
    return row[key] if row else "-"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def ratios_of(rows, method, data):
    """The ratio of a method for each of the data that were measured."""
    found = {row["data"]: float(row["ratio"]) for row in rows if row["method"] == method}
    return {name: found[name] for name in data if name in found}


def span(ratios):
    if not ratios:
        return "-"
    least, most = min(ratios.values()), max(ratios.values())
    return f"{least:.2f}" if least == most else f"{least:.2f} to {most:.2f}"


def verdict(bar, usual, tuned):
    """By what a bar is reached, and where it is not."""
    missed = [name for name, ratio in usual.items() if ratio < bar]
    if not usual:
        return "not measured"
    if not missed:
        return "default"
    rest = [name for name in missed if tuned.get(name, 0) < bar]
    by_tuner = [name for name in missed if name not in rest]
    words = []
    if by_tuner:
        words.append("tuned alone: " + ", ".join(by_tuner))
    if rest:
        words.append("not: " + ", ".join(rest))
    return "; ".join(words)


def bars(rows):
    lines = []
    for problem, size, bins, data, bar in BARS:
        same = [
            row
            for row in rows
            if row["problem"] == problem and row["size"] == size and bins in (None, row["bins"])
        ]
        usual, tuned = ratios_of(same, "default", data), ratios_of(same, "tuned", data)
        against = cell(only(same, "default"), "against")
        name = f"{problem}, {size}" + (f", {bins} bins" if bins else "")
        which = "all data" if len(data) > 2 else " and ".join(data)
        lines.append(
            [name, which, f"{bar:g} x {against}", span(usual), span(tuned), verdict(bar, usual, tuned)]
        )
    return markdown(["problem", "data", "bar", "default", "tuned", "reached by"], lines)


def ceiling_share(row):
    """How much of the default's time its larger ceiling is, in percent."""
    if not row:
        return "-"
    most = max(float(row["copy_us"]), float(row["wavefront_us"] or 0))
    return f"{100 * most / float(row['median_us']):.0f}%"


def cases(rows):
    """Rows of every problem and kind of data, problem by problem, with a name."""
    for (problem, size, bins), same in groups(rows, ("problem", "size", "bins")).items():
        for (data,), some in groups(same, ("data",)).items():
            yield [f"{problem}, {size}, {bins}", data], some


def summary(rows):
    head = ["problem", "data", "compared with", "default", "ratio", "TB/s", "tuned", "ratio"]
    head += ["read only", "bytes", "wavefronts", "ceiling / default"]
    lines = []
    for name, same in cases(rows):
        usual, tuned = only(same, "default"), only(same, "tuned")
        against = next((row for row in same if row["ratio"] == "1.00"), None)
        speed = f"{float(usual['gb_per_s']) / 1000:.2f}" if usual else "-"
        lines.append(
            name
            + [cell(against, "median_us")]
            + [cell(usual, "median_us"), cell(usual, "ratio"), speed]
            + [cell(tuned, "median_us"), cell(tuned, "ratio")]
            + [cell(only(same, "read only"), "median_us"), cell(usual, "copy_us")]
            + [cell(usual, "wavefront_us") or "-", ceiling_share(usual)]
        )
    return markdown(head, lines)


def alone(rows):
    """Calls one at a time, beside calls in a row."""
    lines = []
    for name, same in cases(rows):
        cells = []
        for way in ("between events", "until done on the host's clock"):
            some = [row for row in same if row["parameters"] == way]
            cells += [cell(only(some, one), "median_us") for one in ("CUB alone", "default alone")]
            cells.append(cell(only(some, "default alone"), "ratio"))
        if set(cells) != {"-"}:
            row = [cell(only(same, one), "median_us") for one in ("CUB", "default")]
            row.append(cell(only(same, "default"), "ratio"))
            lines.append(name + row + cells)
    if not lines:
        return "The file has no calls one at a time.\n"
    head = ["problem", "data", "CUB in a row", "default", "ratio"]
    head += ["CUB alone, events", "default", "ratio", "CUB alone, host", "default", "ratio"]
    return markdown(head, lines)


def mean(times, data):
    """The geometric mean of times over the data; None where one is missing."""
    if any(one not in times for one in data):
        return None
    return math.exp(sum(math.log(times[one]) for one in data) / len(data))


def parameters(rows):
    """The parameters of `packed` that are best over all data that they were tried on, and the default."""
    lines = []
    for (problem, size, bins), same in groups(rows, ("problem", "size", "bins")).items():
        tried = [row for row in same if row["method"] == "packed"]
        data = [name for (name,) in groups(tried, ("data",))]
        if not data:
            continue
        usual = [row for row in same if row["method"] == "default"]
        found = []
        for (method, text), some in groups(tried + usual, ("method", "parameters")).items():
            time = mean({row["data"]: float(row["median_us"]) for row in some}, data)
            if time:
                found.append((time, method, text.replace("bin by bin ", "")))
        found.sort()
        best = [one for one in found if one[1] == "packed"][:3]
        for time, method, text in best + [one for one in found if one[1] == "default"]:
            name = f"{problem}, {size}, {bins}"
            lines.append([name, str(len(data)), method, text, f"{time:.2f}"])
    return markdown(["problem", "kinds of data", "way", "parameters", "mean us"], lines)


def ways(rows):
    """The fastest parameters of every way and layout, by data."""
    text = []
    for (problem, size, bins), same in groups(rows, ("problem", "size", "bins")).items():
        best = {}
        for row in same:
            if row["method"] in OTHERS or row["method"].endswith(" alone"):
                continue
            name = row["method"] + ", " + row["parameters"].split(" R=")[0]
            old = best.setdefault(name, {}).get(row["data"])
            if not old or float(row["median_us"]) < float(old["median_us"]):
                best[name][row["data"]] = row
        data = [name for (name,) in groups(same, ("data",))]
        lines = [
            [name] + [cell(found.get(one), "median_us") for one in data]
            for name, found in sorted(
                best.items(), key=lambda item: min(float(row["median_us"]) for row in item[1].values())
            )
        ]
        text += [f"{problem}, {size}, {bins} bins:", "", markdown(["way"] + data, lines)]
    return "\n".join(text)


PARTS = {"bars": bars, "summary": summary, "alone": alone, "parameters": parameters, "ways": ways}


def filled(page, rows):
    """The text of a page with the tables that it has marks for."""
    for name, part in PARTS.items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda match: match[1] + part(rows) + match[2],
            page,
            flags=re.DOTALL,
        )
    return page


def replace(path, text):
    """Writes a file beside the page that then takes its name."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(temporary, os.stat(path).st_mode)
    os.rename(temporary, path)


def main():
    arguments = sys.argv[1:]
    checking = arguments[:1] == ["--check"]
    if checking:
        arguments = arguments[1:]
    if len(arguments) not in (1, 2) or (checking and len(arguments) != 2):
        sys.exit(__doc__)
    rows = read_rows(arguments[0])
    if len(arguments) == 1:
        print("\n".join(f"{name}:\n\n{part(rows)}" for name, part in PARTS.items()))
        return
    with open(arguments[1]) as file:
        page = file.read()
    if not re.search(r"<!-- (" + "|".join(PARTS) + ") -->", page):
        sys.exit(f"{arguments[1]}: no mark of a table")
    text = filled(page, rows)
    if not checking:
        replace(arguments[1], text)
    elif text != page:
        sys.exit(f"{arguments[1]}: its tables are not those of {arguments[0]}")


main()
