"""The declarations for ctypes are those of the header: sizes and offsets of all fields, as a C compiler has them, enums, and
functions that the library has."""
import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from bankfold import _declarations as c
from bankfold import _native

from . import support

HEADER = support.header()


def field_lines():
    """For each struct its size, and of each field where it is and how long: lines of a C program, and what ctypes says."""
    for kind in c.STRUCTS:
        name = kind.__name__
        yield f'printf("{name} %zu\\n", sizeof({name}));', f"{name} {ctypes.sizeof(kind)}"
        for field, _ in kind._fields_:
            own = getattr(kind, field)
            yield (f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));',
                   f"{name}.{field} {own.offset} {own.size}")


def constant_lines():
    text = HEADER.read_text() if HEADER else ""
    for name in sorted(vars(c)):
        if name.startswith("BF_") and isinstance(getattr(c, name), int) and re.search(rf"\b{name}\b", text):
            yield f'printf("{name} %d\\n", (int){name});', f"{name} {getattr(c, name)}"


@unittest.skipUnless(HEADER, "the public header is not here")
class DeclarationsTest(unittest.TestCase):
    def test_layout_is_that_of_the_compiler(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        lines = [*field_lines(), *constant_lines()]
        self.assertGreater(len(lines), 300)
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
            source.write_text("#include <bankfold.h>\n#include <stdio.h>\nint main(void) {\n"
                              + "\n".join(line for line, _ in lines) + "\n}\n")
            subprocess.run([compiler, f"-I{HEADER.parent}", str(source), "-o", str(program)], check=True)
            said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split("\n")
        self.assertEqual(said[:-1], [line for _, line in lines])

    def test_functions_are_those_of_the_header(self):
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
        declared = {}
        for name, taken in re.findall(r"^BF_API [^;(]*?(bf_\w+)\(([^;]*)\);", text, re.M):
            declared[name] = 0 if taken.strip() == "void" else len(taken.split(","))
        self.assertEqual({name: len(taken) for name, (_, taken) in c.FUNCTIONS.items()}, declared)

    def test_the_library_has_all_of_them(self):
        for name in c.FUNCTIONS:
            self.assertTrue(hasattr(_native.library, name), name)


if __name__ == "__main__":
    unittest.main()
