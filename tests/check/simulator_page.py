#!/usr/bin/env python3
"""What docs/simulator.md shows of commands is what they print: simulator_page.py BUILD. In an indented
block, a line "$ bankfold ..." is a command and the lines below it, to the end of the block, its output."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
INDENT = "    "


def blocks(path):
    """Line number and lines of every indented block."""
    block, start = [], 0
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate([*page, ""], 1):
            if line.startswith(INDENT):
                start = start if block else number
                block.append(line[len(INDENT):].rstrip("\n"))
            elif block:
                yield start, block
                block = []


def output_of(command):
    environment = dict(os.environ, PATH=BUILD + os.pathsep + os.environ["PATH"])
    result = subprocess.run(command, shell=True, cwd=ROOT, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return [line for line in result.stdout.split("\n") if line]


def main():
    faults = 0
    for start, block in blocks(os.path.join(ROOT, "docs/simulator.md")):
        if not block[0].startswith("$ bankfold "):
            continue
        printed = output_of(block[0][2:])
        if printed != block[1:]:
            print(f"docs/simulator.md:{start}: {block[0]} prints", *printed, sep="\n")
            faults += 1
    return 1 if faults else 0


sys.exit(main())
