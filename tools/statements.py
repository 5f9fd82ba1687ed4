#!/usr/bin/env python3
"""Statements of the documents and their rows in docs/reproduction.md:
  tools/statements.py [--check] [STATEMENTS.csv [VERDICTS.csv]]
Prints how many statements of each document have rows; the files are those of reproduce/. With --check, prints a line for
each statement that has neither a row nor a reason why there is none, or both, for each row that is not recorded, and for
each recorded row of a document that no statement names; status 1 where there is such a line."""
import csv
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "reproduce")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rows_of(statement):
    return statement["rows"].split("; ") if statement["rows"] else []


def find_faults(statements, verdicts):
    """Lines about what is missing in the list, or in the record."""
    recorded = {row["reproduction"] + "/" + row["claim"]: row["document"] for row in verdicts}
    named = set()
    for statement in statements:
        text = "{document}, {place}: {statement}".format(**statement)
        rows = rows_of(statement)
        if bool(rows) == bool(statement["reason"]):
            yield text + ": needs a row, or a reason why there is none"
        for row in rows:
            if row not in recorded:
                yield text + ": there is no row '" + row + "'"
            named.add(row)
    for row, document in recorded.items():
        if document != "H200" and row not in named:
            yield "no statement names the row '" + row + "'"


def count(statements):
    """A table of the documents, in the order of the list."""
    documents = list(dict.fromkeys(statement["document"] for statement in statements))
    print("| document | statements | with rows | without, with the reason |\n|---|---|---|---|")
    for document in documents + [None]:
        own = [s for s in statements if document in (None, s["document"])]
        with_rows = sum(1 for s in own if s["rows"])
        print("| {} | {} | {} | {} |".format(document or "all", len(own), with_rows, len(own) - with_rows))


def main(arguments):
    check = "--check" in arguments
    paths = [argument for argument in arguments if argument != "--check"]
    statements = read(paths[0] if paths else os.path.join(FOLDER, "statements.csv"))
    verdicts = read(paths[1] if len(paths) > 1 else os.path.join(FOLDER, "verdicts.csv"))
    if not check:
        count(statements)
        return 0
    faults = list(find_faults(statements, verdicts))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


sys.exit(main(sys.argv[1:]))
