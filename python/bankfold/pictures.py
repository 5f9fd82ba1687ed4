"""Accesses in words and as pictures."""
import ctypes
import dataclasses
from typing import List, Optional, Tuple

from . import _declarations as c
from ._native import call, handed_text, options, text_of
from .errors import BadInput
from .memory import (Access, AccessesLike, HashLike, Machine, MachineLike, check, hash_of, machine_of, workload_of)
from .tables import Result

__all__ = ["Pattern", "Patterns", "Picture", "classify", "draw"]


@dataclasses.dataclass(frozen=True)
class Pattern(Result):
    """The pattern that an access follows: lane i accesses element stride_x * (i % width_x) + stride_y * (i // width_x)
    + offset. Numbers are 0 where it is random."""

    pattern: str
    explanation: str
    wavefronts: int
    conflicts: int
    stride_x: int
    stride_y: int
    width_x: int
    offset: int
    columns: int
    matrix: Tuple[Tuple[int, int], Tuple[int, int]]
    origin: Tuple[int, int]
    access: Access

    @property
    def line(self) -> int:
        return self.access.line

    @property
    def site(self) -> Optional[str]:
        return self.access.site


@dataclasses.dataclass(frozen=True)
class Patterns(Result):
    """The patterns of accesses."""

    machine: str
    patterns: List[Pattern]

    ROWS = "patterns"
    COLUMNS = (("line", "line"), ("pattern", "pattern"), ("wavefronts", "wavefronts"), ("conflicts", "conflicts"),
               ("explanation", "explanation"))


def _classify(machine: Machine, access: "c.bf_access", given: "c.bf_classify_options") -> Pattern:
    found = c.bf_classification()
    call("bf_access_get_class", machine.address, ctypes.byref(access), ctypes.byref(given), ctypes.byref(found))
    count = c.bf_count()
    call("bf_memory_count", machine.address, None, ctypes.byref(access), ctypes.byref(count))
    matrix, origin = found.matrix, found.origin
    return Pattern(text_of(found.pattern), text_of(found.explanation), count.ideal + count.conflicts, count.conflicts,
                   found.stride_x, found.stride_y, found.width_x, found.offset, found.columns,
                   ((matrix[0][0], matrix[0][1]), (matrix[1][0], matrix[1][1])), (origin[0], origin[1]),
                   Access.from_native(access))


def classify(accesses: AccessesLike, machine: MachineLike = "hopper", *, columns: int = 0, block_x: int = 0, op: str = "ld",
             width_bytes: int = 4) -> Patterns:
    """Says which pattern each access follows. columns: elements in a row of the array; block_x: threads in a row of
    the block."""
    on = machine_of(machine)
    given = options(c.bf_classify_options, columns=columns, block_x=block_x)
    work = workload_of(accesses, on, op, width_bytes)
    return Patterns(on.name, [_classify(on, access, given) for access in work.natives()])


@dataclasses.dataclass(frozen=True)
class Picture(Result):
    """Which bank serves which lane in which wavefront. Notebooks show the SVG."""

    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg[self.svg.index("<svg"):]

    def save(self, path: str) -> None:
        """Writes the SVG to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def _draw(machine: Machine, hash_address: Optional[int], access: "c.bf_access", form: int, all_rows: bool, width: int,
          color: bool) -> str:
    given = options(c.bf_drawing_options, form=form, all_rows=all_rows, width_columns=width, color=color)
    return handed_text("bf_access_draw", machine.address, hash_address, ctypes.byref(access), ctypes.byref(given))


def draw(access: AccessesLike, hash: HashLike = None, machine: MachineLike = "hopper", *, all_rows: bool = False,
         width: int = 120, color: bool = False, op: str = "ld", width_bytes: int = 4) -> Picture:
    """Draws an access, with a hash before and after. Of several accesses, the one with the most conflicts is drawn."""
    on = machine_of(machine)
    placed = hash_of(hash, on)
    costs = check(workload_of(access, on, op, width_bytes), None, on).accesses
    if not costs:
        raise BadInput("there is no access to draw")
    native = max(costs, key=lambda cost: cost.conflicts).access.to_native()
    address = placed.address if placed else None
    text, svg = (_draw(on, address, native, form, all_rows, width, color) for form in (c.BF_DRAWING_TEXT, c.BF_DRAWING_SVG))
    return Picture(text, svg)
