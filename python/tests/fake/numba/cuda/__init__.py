"""A stand-in for numba.cuda as far as bankfold.numba touches it."""
from . import codegen


class Kernel:
    def __init__(self, ptx):
        self.ptx, self.loaded = ptx, None

    def __getitem__(self, size):
        def launch(*arguments):
            self.loaded = codegen.CUDACodeLibrary(self.ptx).get_cubin(cc=(9, 0))
        return launch

    def inspect_asm(self):
        return {"signature": self.ptx}
