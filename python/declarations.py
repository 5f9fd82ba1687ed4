#!/usr/bin/env python3
"""Writes bankfold/_declarations.py from include/bankfold.h: its enums, structs and functions for ctypes.

    python3 python/declarations.py            writes the file
    python3 python/declarations.py --check    status 1 where the file is not what would be written

The header is regular, and this reads what it has: comments are taken out, then one declaration after the other is
recognised. What is not understood is an error, not left out."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent / "include" / "bankfold.h"
OUTPUT = HERE / "bankfold" / "_declarations.py"

NUMBERS = {
    "bool": "c_bool", "char": "c_char", "double": "c_double", "int": "c_int", "unsigned": "c_uint", "size_t": "c_size_t",
    "uint8_t": "c_uint8", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "int32_t": "c_int32", "int64_t": "c_int64",
}
POINTERS = {"char": "c_char_p", "void": "c_void_p"}


class Header:
    """What the header declares, in its order."""

    def __init__(self, text):
        self.constants, self.enums, self.structs, self.functions = {}, {}, {}, {}
        self.opaque, self.callbacks = set(), {}
        self.operations = re.findall(r'X\((\w+), "', text.split("#define BF_OPS(X)")[1].split("typedef")[0])
        self.read_constants(text)
        self.read(strip(text))

    def read_constants(self, text):
        """Numbers that are written as such. BF_VERSION_NUMBER follows from the others."""
        for name, value in re.findall(r"^#define (BF_\w+) (\d+)$", text, re.M):
            self.constants[name] = int(value)
        major, minor, patch = (self.constants["BF_VERSION_" + part] for part in ("MAJOR", "MINOR", "PATCH"))
        self.constants["BF_VERSION_NUMBER"] = major * 10000 + minor * 100 + patch

    def read(self, text):
        while text.strip():
            text = text.strip()
            if text.startswith(("static inline", "BF_DEFAULT_FUNCTION")):
                text = text[end_of_definition(text):]
                continue
            declaration, text = cut_declaration(text)
            self.declare(" ".join(declaration.split()))

    def declare(self, text):
        enum = re.fullmatch(r"typedef enum (\w+) \{(.*)\} \1", text)
        struct = re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", text)
        opaque = re.fullmatch(r"typedef struct (\w+) \1", text)
        callback = re.fullmatch(r"typedef (.+?)\(\*(\w+)\)\((.*)\)", text)
        function = re.fullmatch(r"BF_API (.+?)(\w+)\((.*)\)", text)
        if enum:
            self.enums[enum[1]] = self.members(enum[1], enum[2])
        elif struct:
            self.structs[struct[1]] = [field for part in split(struct[2], ";") for field in self.fields(part)]
        elif opaque:
            self.opaque.add(opaque[1])
        elif callback:
            self.callbacks[callback[2]] = self.callback(callback[1], callback[3])
        elif function:
            self.functions[function[2]] = (self.type(function[1]), [self.argument(a) for a in arguments(function[3])])
        elif text:
            raise SystemExit(f"{HEADER}: not understood: {text}")

    def members(self, name, text):
        if name == "bf_op":
            return {"BF_OP_" + op: i for i, op in enumerate(self.operations + ["COUNT"])}
        result, value = {}, 0
        for part in split(text, ","):
            key, _, given = part.partition("=")
            value = int(given) if given else value
            result[key.strip()] = value
            value += 1
        return result

    def fields(self, text):
        """The names and types of one line of a struct."""
        callback = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text)
        if callback:
            return [(callback[2], self.callback(callback[1], callback[3]))]
        first, *others = split(text, ",")
        base, stars, name = re.fullmatch(r"(.*?)(\**)(\w+(?:\[\w+\])*)", first).groups()
        names = [(stars, name)] + [re.fullmatch(r"(\**)(\w+(?:\[\w+\])*)", other).groups() for other in others]
        return [self.field(base, stars, name) for stars, name in names]

    def field(self, base, stars, name):
        name, *sizes = re.split(r"\[|\]\[?", name.rstrip("]"))
        text = self.type(base + stars)
        for size in reversed(sizes):
            text = f"{text} * {self.constants.get(size, size)}"
        return name, text

    def argument(self, text):
        base, name, array = re.fullmatch(r"(.*?)(\w+)(\[\d*\])?", text).groups()
        return name, self.type(base + ("*" if array else ""))

    def callback(self, result, text):
        parts = [self.type(result)] + [self.argument(a)[1] for a in arguments(text)]
        return f"CFUNCTYPE({', '.join(parts)})"

    def type(self, text):
        """The type of ctypes for a type of C."""
        words = text.replace("const", " ").replace("*", " * ").split()
        base, stars = words[0], words.count("*")
        if base in POINTERS and stars:
            result, stars = POINTERS[base], stars - 1
            result = "c_void_p" if stars else result  # what is handed out has to be freed by its address
        elif base in self.opaque:
            result, stars = "c_void_p", stars - 1
        elif base in self.enums:
            result = "c_int"
        else:
            result = "None" if base == "void" else NUMBERS.get(base, base)
            if result == base and base not in self.structs and base not in self.callbacks:
                raise SystemExit(f"{HEADER}: type {text} is not known")
        return "POINTER(" * stars + result + ")" * stars


def strip(text):
    """The declarations alone: without comments and what is for the preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    text = text.replace('extern "C" {', "")
    return re.sub(r"\n\}\s*$", "", text.rstrip())


def end_of_definition(text):
    """The index behind a function with a body, or the line of a macro."""
    if text.startswith("BF_DEFAULT_FUNCTION"):
        return text.index(")") + 1
    depth = 0
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.end()
    raise SystemExit(f"{HEADER}: a function does not end")


def cut_declaration(text):
    depth = 0
    for match in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        if match[0] == ";" and not depth:
            return text[:match.start()], text[match.end():]
    return text, ""


def split(text, by):
    """Parts between separators that are not in parentheses, without empty ones."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == by and not depth:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in parts + [text[start:]] if part.strip()]


def arguments(text):
    return [] if text.strip() in ("", "void") else split(text, ",")


def write(header):
    lines = ['"""The public header for ctypes. Written by python/declarations.py; not to be changed by hand."""',
             "# pylint: skip-file",
             "from ctypes import *  # noqa: F403",
             "from typing import Any, Dict, List, Tuple",
             ""]
    lines += [f"{name} = {value}" for name, value in header.constants.items()]
    for members in header.enums.values():
        lines += [""] + [f"{name} = {value}" for name, value in members.items()]
    lines += [""] + [f"{name} = {text}" for name, text in header.callbacks.items()]
    for name, fields in header.structs.items():
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{field}", {text}),' for field, text in fields] + ["    ]"]
    lines += ["", "", "# Of each function what it returns, and what it takes.",
              "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
    for name, (result, taken) in header.functions.items():
        lines.append(f'    "{name}": ({result}, [{", ".join(text for _, text in taken)}]),')
    lines += ["}", "", "STRUCTS = [" + ", ".join(header.structs) + "]", ""]
    return "\n".join(lines)


def main():
    text = write(Header(HEADER.read_text()))
    if "--check" not in sys.argv[1:]:
        OUTPUT.write_text(text)
        return 0
    if OUTPUT.exists() and OUTPUT.read_text() == text:
        return 0
    print(f"{OUTPUT.name} is not what include/bankfold.h says: run python/declarations.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
