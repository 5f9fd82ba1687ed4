"""Compilations, with a cache by key."""
import collections
import hashlib
import os
import subprocess
import tempfile

from ..backends.nvidia.compiler import CUDABackend, get_ptxas

Metadata = collections.namedtuple("Metadata", "name num_warps shared")
cache = {}  # what real Triton has on the disk
compilations = []  # keys that were not in it


class ASTSource:
    def __init__(self, fn, num_warps=4):
        self.fn, self.num_warps = fn, num_warps


class CompiledKernel:
    def __init__(self, source, cubin):
        self.src, self.metadata = source, Metadata(source.fn.name, source.num_warps, 4096)
        self.asm = {"ptx": source.fn.fn(), "cubin": cubin}


def compile(src, target=None, options=None):  # pylint: disable=redefined-builtin
    backend = CUDABackend(target or 90)
    key = hashlib.sha256(f"{src.fn.fn()}-{src.num_warps}-{backend.hash()}".encode()).hexdigest()
    if key not in cache:
        compilations.append(key)
        cache[key] = assemble(src.fn.fn(), backend.arch)
    return CompiledKernel(src, cache[key])


def assemble(ptx, arch):
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ptx)
        subprocess.run([get_ptxas(arch).path, "-lineinfo", "-v", f"--gpu-name=sm_{arch}", source, "-o", out], check=True,
                       capture_output=True)
        with open(out, "rb") as file:
            return file.read()
