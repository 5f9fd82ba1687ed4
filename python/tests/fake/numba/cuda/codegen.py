class CUDACodeLibrary:
    def __init__(self, ptx):
        self.ptx = ptx

    def _get_ptxes(self, cc=None):
        return [self.ptx]

    def get_asm_str(self, cc=None):
        return "\n\n".join(self._get_ptxes(cc=cc))

    def get_cubin(self, cc=None):
        return self._get_ptxes(cc=cc)[0]
