#!/usr/bin/env python3
"""The rule of the rooms. A room includes its own headers and those of the rooms it may know; of these no header that
says "Inside room" in its first line. Every folder with C in it is a room or belongs to one. Public headers know nothing
of the project. The check is tried itself: a wrong include is planted in every folder that has C in it."""
import os
import pathlib
import re
import shutil
import sys
import tempfile

ALL = "*"  # every room of src
core = ["base", "gf2", "hash", "access", "memory"]
RULES = {
    "base": [],
    "gf2": [],
    "hash": ["base", "gf2"],
    "access": ["base", "gf2", "hash"],
    "memory": ["base", "gf2", "hash", "access"],
    "layout": core,
    "search": core,
    "emit": ["base", "gf2", "hash"],
    "ptx": ["base"],
    "verify": ["base", "gf2", "hash", "ptx"],
    "rewrite": ["base", "gf2", "hash", "ptx", "verify"],
    "analyze": core + ["ptx"],
    "emu": core + ["ptx"],
    "sim": core + ["ptx", "emu"],
    "source": core + ["search", "ptx", "analyze"],
    "tune": core + ["search", "ptx", "analyze", "rewrite", "verify", "emu", "sim", "exchange", "process"],
    "scan": core + ["ptx", "analyze", "source", "rewrite", "tune", "exchange", "process", "report", "layout", "search"],
    "exchange": core + ["ptx", "emu"],
    "report": core + ["layout", "search"],
    "process": ["base", "exchange"],
    "rtl": core + ["emit", "exchange", "process"],
    "rgpu": core + ["ptx", "emu", "sim"],
    "ncu": core + ["ptx", "process"],
    "vote": ["base"],
    "image": ["base"],
    "imaging": ["base", "image", "vote", "report"],
    "api": [ALL],
    "kernels": ["base", "emu", "sim"],
    "reproduce": core + ["search", "ptx", "rewrite", "emu", "sim", "rgpu", "vote", "kernels", "report", "rtl"],
    "runtime": core + ["ptx", "rewrite", "emu", "sim", "tune", "exchange"],
    "lead": ["base", "exchange", "runtime"],
    "stand_ins": [],
    "inject": ["base", "gf2", "hash", "ptx", "memory", "analyze", "rewrite", "exchange", "tune"],
    "gpu": [ALL, "kernels"],
    "cli": [ALL, "kernels", "reproduce", "inject", "gpu"],
    "web": [ALL, "kernels", "cli"],
    "tests": [ALL, "kernels", "reproduce", "runtime", "inject", "gpu", "cli"],
    "bench": [ALL, "kernels", "inject"],
    "tools": [ALL, "kernels"],
}
SEES_INSIDE = {"tests", "bench"}  # they try the parts of a room
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]*)"', re.M)


def room_of(path):
    """The room that a file belongs to."""
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def sources(root):
    """All C of the project, but not what builds made."""
    for folder, inner, names in os.walk(root):
        if folder == str(root):
            inner[:] = [name for name in inner if not name.startswith(("build", "."))]
        for name in names:
            if name.endswith((".c", ".h")) and folder != str(root):
                yield (pathlib.Path(folder) / name).relative_to(root)


def target_of(root, path, included):
    """The file that an include in path leads to; None: there is none."""
    for place in (path.parent, pathlib.Path("src"), pathlib.Path("."), pathlib.Path("include"), pathlib.Path("inject")):
        found = pathlib.Path(os.path.normpath(place / included))
        if (root / found).is_file():
            return found
    return None


def is_known(root, room, other):
    rules = RULES[room]
    return room == other or other in rules or (ALL in rules and (root / "src" / other).is_dir())


def fault_of(root, path, included):
    """What is wrong with an include; None: nothing."""
    room, target = room_of(path), target_of(root, path, included)
    if target is None:  # made when tests are built
        return None if room == "tests" else f'there is no "{included}"'
    other = room_of(target)
    if room == "include":
        return None if other == "include" else "public headers must not include headers of the project"
    if other == "include":
        return None
    if not is_known(root, room, other):
        return f'room {room} must not include "{included}"'
    is_inner = "Inside room" in (root / target).read_text(errors="replace").split("\n", 1)[0]
    return f'"{included}" is for room {other} only' if is_inner and room != other and room not in SEES_INSIDE else None


def faults(root):
    for path in sorted(sources(root)):
        room = room_of(path)
        if room != "include" and room not in RULES:
            yield f"{path}: room {room} has no rule in tests/check/includes.py"
            continue
        text = (root / path).read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            fault = fault_of(root, path, match.group(1))
            if fault:
                yield f"{path}:{text.count(chr(10), 0, match.start(1)) + 1}: {fault}"


def planted(root):
    """What the check does not find in a copy of the folders, with a wrong include in each."""
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        folders = {path.parent for path in sources(root) if room_of(path) not in SEES_INSIDE}
        for folder in folders:
            (copy / folder).mkdir(parents=True, exist_ok=True)
            secret = "vote/plan.h" if str(folder) != "src/vote" else "rtl/tool.h"
            (copy / folder / "planted.c").write_text(f'\n#include "{secret}"\n')
        for header in ("src/vote/plan.h", "src/rtl/tool.h"):
            shutil.copy(root / header, copy / header)
        (copy / "src/elsewhere").mkdir()
        (copy / "src/elsewhere/x.c").write_text("")
        found = "\n".join(faults(copy))
        for folder in sorted(folders):
            if f"{folder}/planted.c:2:" not in found:
                yield f"a wrong include in {folder} is not found"
        if "src/elsewhere/x.c: room elsewhere has no rule" not in found:
            yield "a folder without a rule is not found"


project = pathlib.Path(__file__).resolve().parent.parent.parent
wrong = list(faults(project)) + list(planted(project))
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
