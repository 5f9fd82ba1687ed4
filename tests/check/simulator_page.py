#!/usr/bin/env python3
"""What pages about the simulator, and that of suggest, show of commands is what they print: simulator_page.py BUILD [--update]. In an
indented block, a line "$ bankfold ..." is a command and the lines below it, to the end of the block, its output;
--update writes what is printed now."""
import difflib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
PAGES = ["docs/simulator.md", "docs/elastic.md", "docs/exec.md", "docs/suggest.md"]
INDENT = "    "


def output_of(command):
    """Lines that a command prints, without empty ones."""
    environment = dict(os.environ, PATH=BUILD + os.pathsep + os.environ["PATH"])
    result = subprocess.run(command, shell=True, cwd=ROOT, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return [line for line in result.stdout.split("\n") if line]


def with_output(lines):
    """The lines of the page with what commands print now."""
    shown = False  # the line before belongs to a command and its output
    for line in lines:
        if line.startswith(INDENT + "$ bankfold "):
            yield line
            yield from (INDENT + printed for printed in output_of(line[len(INDENT) + 2:]))
            shown = True
        elif not (shown and line.startswith(INDENT)):
            yield line
            shown = False


def check(name):
    """Whether the page shows what is printed now; with --update it does afterwards."""
    path = os.path.join(ROOT, name)
    with open(path, encoding="utf-8") as page:
        lines = page.read().split("\n")
    now = list(with_output(lines))
    if "--update" in sys.argv:
        with open(path, "w", encoding="utf-8") as page:
            page.write("\n".join(now))
        return True
    print(*difflib.unified_diff(lines, now, name, "what is printed", lineterm=""), sep="\n", end="")
    return now == lines


def main():
    return 0 if all([check(name) for name in PAGES]) else 1


sys.exit(main())
