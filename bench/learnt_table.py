#!/usr/bin/env python3
"""What learning changes: learnt_table.py FILE.json of bench/never_slower.py with the modes plain, run and learn. A line for
each kernel with conflicts that learning makes faster or slower by 3% than `run`, and the means of both modes."""
import json
import sys

from speed_table import gain, half, has_conflicts, is_judged, mean, noise, readable, show_noise

LEAST_DIFFERENCE = 0.03


def print_table(rows):
    names = readable(rows)
    print("| half | program | kernel | run | learn | noise | what learning took |\n|---|---|---|---:|---:|---:|---|")
    for row in sorted(rows, key=lambda row: gain(row, "learn") / gain(row, "run")):
        run, learn = gain(row, "run"), gain(row, "learn")
        if abs(learn / run - 1) >= LEAST_DIFFERENCE:
            print(f"| {half(row['program'])} | {row['program']} | {names[row['kernel']]} | {run:.3f} | {learn:.3f} | "
                  f"{show_noise(noise(row, 'learn'))} | {row.get('said', {}).get('learn', '')[:80]} |")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = json.load(file)
    rows = [row for row in found["rows"] if has_conflicts(row) and is_judged(row, "run") and is_judged(row, "learn")]
    print_table(rows)
    for own in ("A", "B", "AB"):
        chosen = [row for row in rows if half(row["program"]) in own]
        print(f"\nkernels with conflicts, half {' and '.join(own)}: run {mean([gain(r, 'run') for r in chosen])}, "
              f"learn {mean([gain(r, 'learn') for r in chosen])}")
    for program in found["programs"]:
        for mode, fault in program.get("faults", {}).items():
            print(f"\n{program['program']} in {mode}: {fault}")


if __name__ == "__main__":
    sys.exit(main())
