#!/usr/bin/env python3
"""The output of bench_vote_data as a Markdown table: vote_table.py <OUTPUT."""
import json
import sys


def main():
    problems, slowest = {}, {}
    for row in map(json.loads, sys.stdin):
        if row["what"] == "data":
            problems.setdefault(row["problem"], {})[row["data"]] = row
        else:
            slowest[row["problem"]] = row
    print("| problem | natural | constant | random | slowest | OpenCV / ours |\n|---|---|---|---|---|---|")
    for name, by_data in problems.items():
        times = " | ".join(f"{by_data[data]['ours']:.2f}" for data in ("natural", "constant", "random"))
        ratios = [row["opencv_over_ours"] for row in by_data.values() if "opencv" in row]
        others = f"{min(ratios):.1f} to {max(ratios):.0f}" if ratios else ""
        print(f"| {name} | {times} | {slowest[name]['ours']:.2f} ({slowest[name]['data']}) | {others} |")


main()
