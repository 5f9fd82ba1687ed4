"""A stand-in for numba.cuda as far as bankfold.numba touches it, in the way of Numba 0.56: what is linked is a list of
texts, and what is shown is those together."""
from . import codegen, dispatcher


class Kernel:
    def __init__(self, ptx):
        self.library, self.loaded = codegen.CUDACodeLibrary(ptx), None

    def __getitem__(self, size):
        return dispatcher._LaunchConfiguration(self, *size)

    def inspect_asm(self):
        return {"signature": self.library.get_asm_str()}
