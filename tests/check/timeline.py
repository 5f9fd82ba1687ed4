#!/usr/bin/env python3
"""Timelines hold every instruction once, and events of a thread do not overlap: timeline.py BUILD."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "bankfold")
ALL_CYCLES = "1000000000"
SMALL = ["--gpu", "examples/small.gpu"]
# Launches with and without conflicts, several of them, several multiprocessors, an in-order pipeline.
RUNS = [
    ["--benchmark", "transpose16", *SMALL],
    ["--benchmark", "lud-diagonal", "--set", "dispatch=2", *SMALL],
    ["--benchmark", "reduction", "--set", "sms=3", "--hash", "fixed", *SMALL],
    ["--benchmark", "transpose16", "--gpu", "elastic"],
]


def simulate(arguments, path):
    """The result of a run as JSON, and its timeline."""
    line = [PROGRAM, "sim", *arguments, "--json", "--timeline", path,
            "--timeline-cycles", ALL_CYCLES]
    result = subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    with open(path, encoding="utf-8") as file:
        return json.loads(result.stdout), json.load(file)["traceEvents"]


def overlaps(events):
    """Pairs of neighbouring events of a thread of which the second begins before the first ends."""
    ordered = sorted(events, key=lambda event: event["ts"])
    return [(a, b) for a, b in zip(ordered, ordered[1:]) if a["ts"] + a["dur"] > b["ts"]]


def faults_of(result, events):
    complete = [event for event in events if event["ph"] == "X"]
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    threads = {}
    for event in complete:
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
    instructions = [event for event in complete if "args" in event]
    if len(instructions) != result["total"]["instructions"]:
        yield f"{len(instructions)} events for {result['total']['instructions']} instructions"
    if len(complete) - len(instructions) != len(result["launches"]):
        yield "not one event for each launch"
    wavefronts = sum(event["args"].get("wavefronts", 0) for event in instructions)
    if wavefronts != result["total"]["shared_wavefronts"]:
        yield f"{wavefronts} of {result['total']['shared_wavefronts']} wavefronts"
    if len({tid for _, tid in threads}) < len(threads) or any(tid == 0 for _, tid in threads):
        yield "numbers of threads occur twice or are 0"
    for thread, members in threads.items():
        if thread not in named:
            yield f"thread {thread} has no name"
        for first, second in overlaps(members)[:1]:
            yield f"thread {thread}: {first} and {second} overlap"


def main():
    faults = 0
    for arguments in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            result, events = simulate(arguments, os.path.join(folder, "timeline.json"))
        for fault in faults_of(result, events):
            print(f"{' '.join(arguments)}: {fault}")
            faults += 1
    return 1 if faults else 0


sys.exit(main())
