"""Kernels through the real Numba, on the driver of Bankfold: started by test_numba, which has set where things are. Prints a
line of JSON."""
import json
import sys
import warnings

import numpy
from numba import cuda, float32
from numba.cuda.cudadrv import driver, nvvm

import bankfold.numba


def fit_old_numba_to_cuda_13():
    """Numba 0.56 is older than CUDA 13. It writes a fixed version of NVVM's IR, where the library wants its own, and it takes
    the newest form of a driver's function, where two got another argument since."""
    from llvmlite import ir

    def add_ir_version(module):
        version = module.add_metadata([ir.IntType(32)(number) for number in nvvm.NVVM().get_ir_version()])
        module.add_named_metadata("nvvmir.version", version)

    def find_api(self, name):
        return getattr(self.lib, name) if name in ("cuCtxGetDevice", "cuCtxSynchronize") else found(self, name)

    found = driver.Driver._find_api
    driver.Driver._find_api, nvvm.add_ir_version = find_api, add_ir_version


def transpose(tiles, turned):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = tiles[cuda.blockIdx.x, y, x]
    cuda.syncthreads()
    turned[cuda.blockIdx.x, y, x] = tile[x, y]


def launch(kernel):
    """Whether a launch gives what it must."""
    tiles = numpy.arange(4096, dtype=numpy.float32).reshape(4, 32, 32)
    turned = numpy.zeros_like(tiles)
    kernel[4, (32, 32)](tiles, turned)
    return bool((turned == tiles.transpose(0, 2, 1)).all())


def main():
    warnings.simplefilter("ignore")
    if hasattr(nvvm, "add_ir_version") and nvvm.NVVM().get_ir_version() >= (2, 0):
        fit_old_numba_to_cuda_13()
    result = {}
    plain = cuda.jit(transpose)
    result["plain is right"] = launch(plain)
    result["conflicts"] = [found.conflicts for found in bankfold.numba.analyze(plain, (32, 32))]
    result["name"] = bankfold.numba.analyze(plain, (32, 32))[0].summary().split(",")[0]
    hashed = cuda.jit(transpose)
    with bankfold.numba.optimize(verbose=False) as seen:
        result["hashed is right"] = launch(hashed)
        result["plain stays"] = launch(plain)
    result["blocks"] = [analysis.block for prepared in seen for analysis in prepared.analyses]
    result["left"] = [bankfold.analyze(prepared.ptx, block=(32, 32)).conflicts for prepared in seen]
    result["hashed is right behind it"] = launch(hashed)
    print(json.dumps(result))


if __name__ == "__main__":
    sys.exit(main())
