#!/usr/bin/env python3
"""The programs of docs/api.md and what they print, as files NAME.c and NAME.txt of a folder."""
import pathlib
import re
import sys

folder, name, blocks = pathlib.Path(sys.argv[1]), None, {}
for line in pathlib.Path("docs/api.md").read_text().split("\n"):
    named, run = re.fullmatch(r"`([a-z]+\.[ch])`:", line), re.fullmatch(r"    \$ \./([a-z]+)", line)
    if named:
        name = named.group(1)
    elif run:
        name = run.group(1) + ".txt"
    elif name and (line.startswith("    ") or not line):
        blocks.setdefault(name, []).append(line[4:])
    elif name:
        name = None
for name, lines in blocks.items():
    (folder / name).write_text("\n".join(lines).strip("\n") + "\n")
