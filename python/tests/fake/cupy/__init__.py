"""A stand-in for CuPy: modules remember the PTX that they were loaded from."""
import pathlib

from . import cuda


class RawModule:
    def __init__(self, path):
        self.path, self.text = path, None

    def get_function(self, name):
        if self.text is None:  # as in CuPy, the file is read when it is needed
            self.text = pathlib.Path(self.path).read_text()
        if f".entry {name}(" not in self.text:
            raise KeyError(name)
        return name
