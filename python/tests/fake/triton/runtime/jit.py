import collections


class KernelInterface:
    def __getitem__(self, grid):
        return lambda *arguments, **named: self.run(*arguments, grid=grid, warmup=False, **named)


class JITFunction(KernelInterface):
    def __init__(self, fn, name):
        self.fn, self.name = fn, name
        self.device_caches = collections.defaultdict(self.create_binder)
        self.launched = []

    def create_binder(self):
        from ..compiler import ASTSource, compile  # pylint: disable=redefined-builtin,import-outside-toplevel
        self.ASTSource, self.compile = ASTSource, compile
        return {}

    def run(self, *arguments, grid, warmup, num_warps=4, **named):
        kernels = self.device_caches[0]
        if num_warps not in kernels:
            kernels[num_warps] = self.compile(self.ASTSource(self, num_warps), target=90, options={})
        self.launched.append(kernels[num_warps].asm["cubin"])
        return kernels[num_warps]


def jit(fn):
    return JITFunction(fn, "transpose")
