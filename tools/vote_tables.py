#!/usr/bin/env python3
"""Writes docs/vote_tables.md: published, simulated and measured histograms and Hough transforms.

    tools/vote_tables.py            writes what stands between the marks of the page
    tools/vote_tables.py --check    status 1 where the page is not what would be written

Everything comes from files of the project: the tables of docs/reproduction.md, which
tools/reproduction.sh writes; the newest bench/results/*-h200-vote-tables.csv, which
`vote_bench --tables` writes, where there is one; and the newest bench/results/*-vote.md, which has
the output of bench_vote. $H200 and $CPU name other files.
"""
import csv
import glob
import json
import os
import sys
import tempfile

PAGE = "docs/vote_tables.md"
BEGIN, END = "<!-- tables -->\n", "<!-- end -->"
TABLES = ["3.3", "3.4", "3.5", "3.6", "4.1", "4.2"]
OVERVIEWS = {"3.7": ["3.3", "3.4", "3.5", "3.6"], "4.3": ["4.1", "4.2"]}
# The ways of the document, as vote_bench calls them.
METHODS = {"3.4": "thread 32 bits", "3.5": "warp software"}
LAYOUTS = {"bin by bin": "bin-major", "copy by copy": "copy-major", "padded": "copy-major, padded"}
PIXELS = 1536 * 1024


def newest(pattern, variable):
    """The file that the environment variable names, or the last one of a pattern, or None."""
    named = os.environ.get(variable)
    found = [named] if named else sorted(glob.glob(pattern))
    return found[-1] if found else None


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def simulated_tables(path):
    """Title, heads and rows of every table of the page that has a number, by number."""
    tables, lines = {}, open(path, encoding="utf-8").read().splitlines()
    for i, line in enumerate(lines):
        if not line.startswith("Table ") or not line.endswith(".csv)"):
            continue
        title = line.rsplit(" (", 1)[0]
        rows = []
        for row in lines[i + 2 :]:
            if not row.startswith("|"):
                break
            rows.append(cells(row))
        tables[title.split(":")[0].split()[1]] = (title, rows[0], rows[2:])
    return tables


def measured_rows(path):
    """Rows of an H200, natural images and 21% edges, of results that are right."""
    if not path:
        return []
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    wrong = [row for row in rows if row["result"] != "right"]
    if wrong or not rows:
        sys.exit(f"{path}: {len(wrong)} of {len(rows)} results are wrong")
    return [row for row in rows if row["image"] in ("natural", "21% edges")]


def fastest(rows, table, published_way):
    """The fastest rows of a table: one for the way of the document, or one for every other way."""
    best = {}
    for row in rows:
        way = row["method"] if row["layout"] in LAYOUTS else f"{row['method']}, {row['layout']}"
        is_published = way == METHODS.get(table, row["method"])
        if row["table"] == table and is_published == published_way:
            if way not in best or float(row["median_us"]) < float(best[way]["median_us"]):
                best[way] = row
    return sorted(best.items(), key=lambda item: float(item[1]["median_us"]))


def milliseconds(row):
    return f"{float(row['median_us']) / 1000:.3g}"


def line(texts):
    return "| " + " | ".join(texts) + " |"


def table_head(heads):
    return [line(heads), "|" + "---|" * len(heads)]


def halves(heads, row):
    """What a table of the simulator has of a GPU, published and ours: configuration and time."""
    published, ours = heads.index("published ms"), heads.index("ours ms")
    return row[1 : published + 1], row[published + 1 : ours + 1]


def configuration(row, names):
    """The same of a measured row."""
    known = {
        "layout": LAYOUTS.get(row["layout"], row["layout"]),
        "copies": row["copies"],
        "threads": row["threads"],
        "blocks per SM": row["blocks_per_sm"],
    }
    return [known[name] for name in names] + [milliseconds(row)]


def write_table(number, simulated, measured):
    """One table: each GPU as published and as simulated, then the H200."""
    title, heads, rows = simulated[number]
    names = heads[1 : heads.index("published ms")]
    lines = [f"### {title}", ""] + table_head(["GPU", "", *names, "ms"])
    for row in rows:
        published, ours = halves(heads, row)
        lines += [line([row[0], "published", *published]), line(["", "simulated", *ours])]
    for _, row in fastest(measured, number, True):
        lines.append(line(["H200", "measured", *configuration(row, names)]))
    for way, row in fastest(measured, number, False):
        lines.append(line(["", f"measured: {way}", *configuration(row, names)]))
    return lines + [""]


def write_overview(number, simulated, measured):
    """The best times of all ways."""
    title, heads, rows = simulated[number]
    renamed = [head.replace(" ours", " simulated") for head in heads]
    lines = [f"### {title}", ""] + table_head(renamed + ["H200 measured"])
    for row, table in zip(rows, OVERVIEWS[number]):
        best = fastest(measured, table, True)
        lines.append(line(row + [milliseconds(best[0][1]) if best else "-"]))
    return lines + [""]


def times(number, way, simulated):
    """Published and simulated times of one way of an overview, by GPU; without those of no time."""
    _, heads, rows = simulated[number]
    known = {"published": {}, "ours": {}}
    for head, cell in zip(heads[1:], rows[OVERVIEWS[number].index(way)][1:]):
        if cell != "-":
            gpu, kind = head.rsplit(" ", 1)
            known[kind][gpu] = float(cell)
    return known


def gains(number, slow, fast, simulated, measured):
    """How many times faster one way is than another: published, simulated, measured."""
    slow_times, fast_times = times(number, slow, simulated), times(number, fast, simulated)
    texts = []
    for kind in ("published", "ours"):
        both = [gpu for gpu in slow_times[kind] if gpu in fast_times[kind]]
        ratios = [slow_times[kind][gpu] / fast_times[kind][gpu] for gpu in both]
        texts.append(", ".join(f"{ratio:.1f}" for ratio in ratios))
    best = [fastest(measured, table, True) for table in (slow, fast)]
    ratio = [float(rows[0][1]["median_us"]) for rows in best if rows]
    return texts + [f"{ratio[0] / ratio[1]:.1f}" if len(ratio) == 2 else "-"]


def layouts(number, simulated, measured):
    """The best layouts of a way; of the H200 also how much longer bin-major takes."""
    _, heads, rows = simulated[number]
    texts = [", ".join(halves(heads, row)[k][0] for row in rows) for k in (0, 1)]
    best = fastest(measured, number, True)
    if not best:
        return texts + ["-"]
    bin_major = fastest([row for row in measured if row["layout"] == "bin by bin"], number, True)
    more = float(bin_major[0][1]["median_us"]) / float(best[0][1]["median_us"]) - 1
    text = LAYOUTS[best[0][1]["layout"]]
    return texts + [text if more == 0 else f"{text}; bin-major {100 * more:.0f}% longer"]


def write_conclusions(simulated, measured):
    """What the document concludes, on all three."""
    rows = [
        ["shared atomics are faster than global ones, times", "3.7", "3.3", "3.6"],
        ["than a histogram per warp, times", "3.7", "3.5", "3.6"],
        ["than 64 bins per thread, times", "3.7", "3.4", "3.6"],
        ["Hough: two steps are faster than global atomics, times", "4.3", "4.1", "4.2"],
    ]
    lines = ["### In short", "", "GTX 470, GTX Titan, GTX 750 Ti:", ""]
    lines += table_head(["", "published", "simulated", "H200 measured"])
    lines += [line([row[0], *gains(*row[1:], simulated, measured)]) for row in rows]
    for title, number in (("best layout of shared atomics", "3.6"), ("the same, Hough", "4.2")):
        lines.append(line([title, *layouts(number, simulated, measured)]))
    return lines + [""]


def cpu_results(path):
    """The lines of bench_vote about the problems of the document."""
    found = {}
    for text in open(path, encoding="utf-8"):
        if not text.strip().startswith("{"):
            continue
        result = json.loads(text)
        if result["what"] == "histogram" and result["bits"] == 12 and result["data"] == "natural":
            found["histogram"] = result
        if result["what"] == "hough" and result["edges"] == 0.21:
            found["hough", result["threads"]] = result
    return found


def write_cpu(path):
    """Sections 3.1 and 4.2 beside bench_vote."""
    results = cpu_results(path)
    histogram, hough = results["histogram"], results["hough", 1]
    scale = PIXELS / 1e6  # nanoseconds per pixel to milliseconds
    heads = ["", "histogram, ms", "Hough transform, ms"]
    rows = [
        ["Core i7-4770, 1 thread, published", "2.4", "60"],
        ["the same with AVX", "1.0", "46"],
        ["the same, 8 threads", "0.24", "12"],
    ]
    for title, key in (("here, 1 thread, plain loop", "plain"), ("here, 1 thread", "ours")):
        rows.append([title, f"{histogram[key] * scale:.2f}", f"{hough[key]:.1f}"])
    if ("hough", 2) in results:
        rows.append(["here, 2 threads", "", f"{results['hough', 2]['ours']:.1f}"])
    return table_head(heads) + [line(row) for row in rows] + [""]


def make_body():
    simulated = simulated_tables("docs/reproduction.md")
    h200 = newest("bench/results/*-h200-vote-tables.csv", "H200")
    cpu = newest("bench/results/*-vote.md", "CPU")
    measured = measured_rows(h200)
    lines = ["## GPUs", ""]
    if h200:
        lines += [f"The H200 is that of [{os.path.basename(h200)}](../{h200}).", ""]
    lines += write_conclusions(simulated, measured)
    for number in sorted(TABLES + list(OVERVIEWS)):
        write = write_overview if number in OVERVIEWS else write_table
        lines += write(number, simulated, measured)
    lines += ["## CPUs", ""]
    lines += [f"Sections 3.1 and 4.2; here is the CPU of [{os.path.basename(cpu)}](../{cpu}).", ""]
    return "\n".join(lines + write_cpu(cpu))


def replace(text):
    """Gives the page the name when it is whole."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(PAGE))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, os.stat(PAGE).st_mode)
    os.rename(temporary, PAGE)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(PAGE, encoding="utf-8") as file:
        old = file.read()
    before, rest = old.split(BEGIN, 1)
    text = before + BEGIN + make_body() + END + rest.split(END, 1)[1]
    if not sys.argv[1:]:
        replace(text)
    elif text != old:
        sys.exit(f"{PAGE} is not what tools/vote_tables.py writes")


main()
