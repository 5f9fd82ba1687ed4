"""cuda-python: PTX as a module of the driver whose kernels are analysed and, where that is predicted to win, hashed.

    module, prepared = bankfold.cuda.load(ptx, block=(32, 32))"""
from typing import Any, Optional, Tuple

from ._prepare import Prepared, prepare
from .kernels import PtxLike, Shape

__all__ = ["load", "prepare", "Prepared"]


def _driver() -> Any:
    """The driver's interface: cuda.bindings since version 12.6, before that cuda.cuda."""
    try:
        from cuda.bindings import driver  # pylint: disable=import-outside-toplevel
        return driver
    except ImportError:
        from cuda import cuda  # pylint: disable=import-outside-toplevel
        return cuda


def load(ptx: PtxLike, *, block: Optional[Shape] = None, optimize: bool = True, hash: str = "auto") -> Tuple[Any, Prepared]:
    """A CUmodule of the current context, and what was done to the PTX."""
    prepared = prepare(ptx, block=block, optimize=optimize, hash=hash)
    error, module = _driver().cuModuleLoadData(prepared.ptx.encode() + b"\0")
    if int(error):
        raise RuntimeError(f"cuModuleLoadData: {error}")
    return module, prepared
