import functools

from ... import knobs


def get_ptxas(arch):
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


@functools.lru_cache()
def get_ptxas_version(arch):
    return get_ptxas(arch).version


class CUDABackend:
    def __init__(self, arch):
        self.arch = arch

    @functools.lru_cache()
    def hash(self):
        return f"{get_ptxas_version(self.arch)}-{self.arch}"
