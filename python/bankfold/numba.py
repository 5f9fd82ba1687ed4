"""Numba: kernels of @cuda.jit, analysed and, where that is predicted to win, hashed.

    print(bankfold.numba.analyze(kernel, block=256)[0])    # a kernel that was compiled

    with bankfold.numba.optimize() as seen:                # kernels that are compiled inside
        kernel[grid, block](x, y)"""
import contextlib
import functools
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

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


class _Rewriter:
    """Rewrites PTX on its way to the linker, each text once."""

    def __init__(self, block: Optional[Shape], hash: str, verbose: bool) -> None:
        self.block, self.hash, self.verbose = block, hash, verbose
        self.launched: Optional[Shape] = None  # the block of the launch that compiles
        self.seen: List[Prepared] = []
        self.done: Dict[Tuple[str, Optional[Shape]], str] = {}

    def __call__(self, ptx: str) -> str:
        block = self.block or self.launched
        if (ptx, block) not in self.done:
            self.done[ptx, block] = self._rewrite(ptx, block)
        return self.done[ptx, block]

    def _rewrite(self, ptx: str, block: Optional[Shape]) -> str:
        try:
            prepared = prepare(ptx, block=block, hash=self.hash)
        except BankfoldError as why:
            print(f"bankfold: compiled as it is: {why}", file=sys.stderr)
            return ptx
        self.seen.append(prepared)
        if self.verbose:
            print(f"bankfold: {prepared}", file=sys.stderr)
        return prepared.ptx


@contextlib.contextmanager
def _replaced(owner: Any, name: str, make: Any) -> Iterator[None]:
    """A method in the place of another for a while; make gets the one that it was."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextlib.contextmanager
def optimize(block: Optional[Shape] = None, hash: str = "auto", verbose: bool = True) -> Iterator[List[Prepared]]:
    """Kernels that Numba compiles inside are rewritten before they are linked, for blocks of that shape or, without one,
    of the launch that has them compiled. What cannot be read is linked as it is. A kernel that was compiled keeps its code:
    before, inside and behind."""
    from numba.cuda import codegen, dispatcher  # pylint: disable=import-outside-toplevel
    rewriter = _Rewriter(block, hash, verbose)

    def texts(original: Any) -> Any:  # what goes to the linker: a list of texts
        return lambda *arguments, **named: [rewriter(ptx) for ptx in original(*arguments, **named)]

    def text(original: Any) -> Any:  # or, where Numba has no such list, one
        return lambda *arguments, **named: rewriter(original(*arguments, **named))

    def launch(original: Any) -> Any:
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            before, rewriter.launched = rewriter.launched, tuple(self.blockdim)
            try:
                return original(self, *arguments, **named)
            finally:
                rewriter.launched = before
        return call

    library = codegen.CUDACodeLibrary
    has_texts = hasattr(library, "_get_ptxes")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_replaced(library, "_get_ptxes" if has_texts else "get_asm_str", texts if has_texts else text))
        if hasattr(dispatcher, "_LaunchConfiguration"):
            stack.enter_context(_replaced(dispatcher._LaunchConfiguration, "__call__", launch))
        yield rewriter.seen
