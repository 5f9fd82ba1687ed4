"""Numba: kernels of @cuda.jit, analysed and, where that is predicted to win, hashed.

    print(bankfold.numba.analyze(kernel, block=256))       # a kernel that was compiled

    with bankfold.numba.optimize() as seen:                # kernels that are compiled inside
        kernel[grid, block](x, y)"""
import contextlib
import functools
import sys
from typing import Any, Iterator, List, Optional

from ._prepare import Prepared, prepare
from .errors import BankfoldError
from .kernels import Analysis, Module, Shape
from .kernels import analyze as analyze_ptx

__all__ = ["ptx_of", "analyze", "optimize"]


def ptx_of(kernel: Any) -> List[str]:
    """The PTX of every signature that a kernel was compiled for."""
    texts = kernel.inspect_asm()
    return list(texts.values()) if isinstance(texts, dict) else [texts]


def analyze(kernel: Any, block: Shape) -> List[Analysis]:
    """The shared accesses of a compiled kernel, one analysis for each signature."""
    return [analyze_ptx(module, name, block=block) for module in map(Module, ptx_of(kernel)) for name in module.kernels]


@contextlib.contextmanager
def optimize(block: Optional[Shape] = None, hash: str = "auto", verbose: bool = True) -> Iterator[List[Prepared]]:
    """Kernels that Numba compiles inside are rewritten before they are linked. What cannot be read is linked as it is."""
    from numba.cuda import codegen  # pylint: disable=import-outside-toplevel
    library = codegen.CUDACodeLibrary
    original = library.get_asm_str
    seen: List[Prepared] = []

    @functools.wraps(original)
    def get_asm_str(self: Any, *arguments: Any, **named: Any) -> Any:
        ptx = original(self, *arguments, **named)
        try:
            prepared = prepare(ptx, block=block, hash=hash)
        except BankfoldError as why:
            print(f"bankfold: compiled as it is: {why}", file=sys.stderr)
            return ptx
        if prepared.rewriting and prepared.rewriting.is_repeated:
            return ptx
        seen.append(prepared)
        if verbose:
            print(f"bankfold: {prepared}", file=sys.stderr)
        return prepared.ptx if prepared.rewriting and prepared.rewriting.is_changed else ptx

    library.get_asm_str = get_asm_str
    try:
        yield seen
    finally:
        library.get_asm_str = original
