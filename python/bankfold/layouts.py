"""Layouts of a tile in shared memory: which ones the hardware allows, and what every access costs under each.

    found = layouts("64x64", "f16", write=["tma"], read=["wgmma:A", "ldmatrix.trans*2"])
    print(found)
    print(found.best.emit("ptx"))
"""
import ctypes
import dataclasses
from typing import Any, List, Optional, Sequence, Tuple

from . import _declarations as c
from ._native import Owned, create, encode, handed_text, library, options, text_of
from .memory import Machine, MachineLike, machine_of
from .tables import Result

__all__ = ["Layouts", "LayoutChoice", "LayoutAccess", "layouts"]


@dataclasses.dataclass(frozen=True)
class LayoutAccess(Result):
    """One access over the whole tile, without its weight; for wgmma with its matrix descriptor."""

    text: str
    is_write: bool
    weight: int
    wavefronts: int
    ideal: int
    descriptor: Optional[int]
    leading_bytes: Optional[int]
    stride_bytes: Optional[int]
    layout_type: Optional[int]


@dataclasses.dataclass(frozen=True)
class LayoutChoice(Result):
    """A layout, and what all accesses together cost under it."""

    name: str
    wavefronts: int
    ideal: int
    conflicts: int
    bytes: int
    alignment_bytes: int
    panel_bytes: int
    panel_stride_bytes: int
    pitch_bytes: int
    swizzle: Tuple[int, int, int]
    tma_mode: Optional[str]
    estimated: bool
    accesses: List[LayoutAccess]
    index: int
    owner: Any = dataclasses.field(repr=False, compare=False)
    machine: Any = dataclasses.field(repr=False, compare=False)  # which the owner points to

    HIDDEN = ("index", "owner", "machine")

    def emit(self, form: str) -> str:
        """Code: "cute", "ptx", "tma", "triton" or "cuda"."""
        return handed_text("bf_layouts_emit", self.owner.address, self.index, encode(form))

    def offset(self, row: int, column: int) -> int:
        """The byte offset of an element in the tile."""
        at = ctypes.c_uint32()
        if library.bf_layouts_place(self.owner.address, self.index, row, column, ctypes.byref(at)) != 0:
            raise IndexError(f"the tile has no element ({row}, {column})")
        return at.value


@dataclasses.dataclass(frozen=True)
class Layouts(Result):
    """Layouts, best first, and those that cannot be, with why."""

    choices: List[LayoutChoice]
    refused: List[Tuple[str, str]]

    ROWS = "choices"
    COLUMNS = (("layout", "name"), ("wavefronts", "wavefronts"), ("conflicts", "conflicts"), ("bytes", "bytes"),
               ("alignment", "alignment_bytes"))

    @property
    def best(self) -> LayoutChoice:
        return self.choices[0]

    def summary(self) -> str:
        return f"best: {self.best.name}, {self.best.wavefronts} wavefronts, {self.best.ideal} would do"


def _access(owner: Owned, index: int, number: int) -> Optional[LayoutAccess]:
    found = c.bf_layout_access()
    if not library.bf_layouts_get_access(owner.address, index, number, ctypes.byref(found)):
        return None
    has = found.has_descriptor
    return LayoutAccess(text_of(found.text), found.is_write, found.weight, found.wavefronts, found.ideal,
                        found.descriptor if has else None, found.leading_bytes if has else None,
                        found.stride_bytes if has else None, found.layout_type if has else None)


def _choice(owner: Owned, index: int, machine: Machine) -> LayoutChoice:
    at = library.bf_layouts_get(owner.address, index).contents
    accesses: List[LayoutAccess] = []
    while (access := _access(owner, index, len(accesses))) is not None:
        accesses.append(access)
    return LayoutChoice(text_of(at.name), at.wavefronts, at.ideal, at.conflicts, at.bytes, at.alignment_bytes, at.panel_bytes,
                        at.panel_stride_bytes, at.pitch_bytes, (at.swizzle_bits, at.swizzle_base, at.swizzle_shift),
                        text_of(at.tma_mode) if at.tma_mode else None, at.estimated, accesses, index, owner,
                        machine)


def layouts(tile: str, type: str = "f16", *, write: Sequence[str] = (), read: Sequence[str] = (),
            layout: Optional[str] = None, machine: MachineLike = "hopper") -> Layouts:
    """All layouts of a tile that the hardware allows for all who write and read it, best first (docs/layout.md)."""
    on: Machine = machine_of(machine)
    lists = [(ctypes.c_char_p * max(len(who), 1))(*[encode(text) for text in who]) for who in (write, read)]
    texts = [ctypes.cast(who, ctypes.POINTER(ctypes.c_void_p)) for who in lists]
    given = options(c.bf_layout_options, tile=encode(tile), type=encode(type), write=texts[0], writes=len(write),
                    read=texts[1], reads=len(read), layout=encode(layout))
    owner = create("bf_layouts_free", "bf_layouts_find", on.address, ctypes.byref(given))
    choices = [_choice(owner, index, on) for index in range(library.bf_layouts_size(owner.address))]
    refused: List[Tuple[str, str]] = []
    why = ctypes.c_void_p()
    while name := library.bf_layouts_get_refused(owner.address, len(refused), ctypes.byref(why)):
        refused.append((text_of(name), ctypes.string_at(why.value or 0).decode()))
    return Layouts(choices, refused)
