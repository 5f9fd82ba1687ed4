from .jit import KernelInterface


class Autotuner(KernelInterface):
    def __init__(self, fn, warps):
        self.fn, self.warps, self.cache = fn, warps, {}

    def run(self, *arguments, **named):
        if "best" not in self.cache:
            for warps in self.warps:
                self.fn.run(*arguments, num_warps=warps, **named)
            self.cache["best"] = self.warps[-1]
        return self.fn.run(*arguments, num_warps=self.cache["best"], **named)


def autotune(warps):
    return lambda fn: Autotuner(fn, warps)
