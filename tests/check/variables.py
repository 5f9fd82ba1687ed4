#!/usr/bin/env python3
"""Names of environment variables stand in one table, BF_VARIABLES in src/exchange/settings.h: no C has one as a literal of
its own, and the documentation knows no others. The check is tried itself: names are planted."""
import pathlib
import re
import sys

TABLE = "src/exchange/settings.h"
ENTRY = re.compile(r'X\(\w+, "(BANKFOLD_\w+)"\)')
LITERAL = re.compile(r'"(BANKFOLD_[A-Z0-9_]+)"')
DOCUMENTED = re.compile(r"`\$?(BANKFOLD_[A-Z][A-Z0-9_]*)[`=]")
EXCEPT = {TABLE, "tests/unit/test_exchange.c"}  # the test of the names
CUDA = {"BANKFOLD_VOTE_TUNED",  # of gpu/vote, which knows the public header only
        "BANKFOLD_PTX"}  # of tools/ncu, which is Python
PYTHON = {"BANKFOLD_BUILD", "BANKFOLD_LIBRARY"}  # of the Python package: what it is built from, and what it loads


def faults(path, text, known):
    """What is wrong with a file."""
    is_page = path.endswith(".md")
    for match in (DOCUMENTED if is_page else LITERAL).finditer(text):
        line, name = text.count("\n", 0, match.start()) + 1, match.group(1)
        if is_page and name not in known:
            yield f"{path}:{line}: {TABLE} has no {name}"
        if not is_page and path not in EXCEPT:
            yield f"{path}:{line}: {name} as a literal; {TABLE} has the names"


def files(root):
    """All C and all pages, but not what builds made."""
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.suffix in (".c", ".h", ".md") and not name.startswith(("build", "bench/results")) and path.is_file():
            yield name, path.read_text(errors="replace")


project = pathlib.Path(__file__).resolve().parent.parent.parent
table = set(ENTRY.findall((project / TABLE).read_text())) | CUDA | PYTHON
wrong = [fault for name, text in files(project) for fault in faults(name, text, table)]
if len(table) < 20:
    wrong.append(f"{TABLE} has no table that can be read")
for planted, text in (("cli/x.c", 'getenv("BANKFOLD_HASH")'), ("docs/x.md", "`BANKFOLD_NONE=1`")):
    if not list(faults(planted, text, table)):
        wrong.append(f"a name that is planted in {planted} is not found")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
