"""PTX on its way to a driver: analysed, and rewritten where that is predicted to win. What CuPy, Numba and cuda-python
share."""
import dataclasses
from typing import Dict, List, Optional

from .errors import BankfoldError
from .kernels import Analysis, Module, PtxLike, Rewriting, Shape, analyze, module_of, rewrite
from .tables import Result

__all__ = ["Prepared", "prepare"]


@dataclasses.dataclass(frozen=True)
class Prepared(Result):
    """PTX to load, with what is known of its kernels."""

    ptx: str
    analyses: List[Analysis]
    rewriting: Optional[Rewriting]
    notes: List[str]
    module: Module = dataclasses.field(repr=False, compare=False)

    HIDDEN = ("module",)

    def kernel_name(self, name: str) -> str:
        """The name of a kernel in the PTX, from that or its name in C++."""
        return self.module.kernel(name).name

    def __str__(self) -> str:
        parts = [str(analysis) for analysis in self.analyses] + self.notes
        return "\n".join(parts + ([str(self.rewriting)] if self.rewriting else []))


def prepare(ptx: PtxLike, *, block: Optional[Shape] = None, blocks: Optional[Dict[str, Shape]] = None, optimize: bool = True,
            hash: str = "auto", padding_has_room: bool = False) -> Prepared:
    """Analyses the kernels of PTX, and rewrites them. block: threads of a block, of all kernels; blocks: of single ones.
    Kernels whose block is not known are not analysed, and hashed only where they win in blocks of every usual shape."""
    module = module_of(ptx)
    analyses, notes = [], []
    for kernel in module.kernels.values():
        shape = (blocks or {}).get(kernel.name, (blocks or {}).get(kernel.readable_name, block)) or kernel.block
        if shape is None:
            notes.append(f"{kernel.readable_name}: not analysed: the size of its blocks is not known")
            continue
        try:
            analyses.append(analyze(module, kernel.name, block=shape))
        except BankfoldError as why:
            notes.append(f"{kernel.readable_name}: not analysed: {why}")
    done = None
    if optimize:
        done = rewrite(module, hash, block=block if hash == "auto" else None, padding_has_room=padding_has_room)
    return Prepared(done.ptx if done and done.is_changed else module.text, analyses, done, notes, module)
