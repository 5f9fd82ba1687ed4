class CUDACodeLibrary:
    def __init__(self, ptx):
        self.ptx = ptx

    def get_asm_str(self, cc=None):
        return self.ptx

    def get_cubin(self, cc=None):
        return self.get_asm_str(cc=cc)
