"""CuTe's layouts: functions from coordinates to offsets, their algebra, and what they do to banks.

    tile = Layout((32, 32), (32, 1))                      # 32 rows of 32 elements
    columns = Layout((32, 32), (1, 32))                   # thread t, value v: element (t, v) of the tile
    print(conflicts(tile, columns))
    print(best_swizzle(tile, columns))

As in CuTe, the leftmost mode is the fastest, an index counts a layout's coordinates in that order, and a thread map
((threads), (values)) -> index of the tile says which element a thread has as its value number v."""
import ast
import dataclasses
import re
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .errors import BadInput
from .memory import Access, Check, MachineLike, Workload, check, machine_of
from .search import solve
from .tables import Result

__all__ = ["Layout", "Swizzle", "ComposedLayout", "SwizzleChoice", "make_layout", "coalesce", "composition", "complement",
           "logical_divide", "logical_product", "accesses", "conflicts", "best_swizzle"]

IntTuple = Union[int, Tuple[Any, ...]]
Mode = Tuple[int, int]  # size and stride


# ---- Nested tuples ----


def _flatten(value: IntTuple) -> List[int]:
    return [value] if isinstance(value, int) else [leaf for part in value for leaf in _flatten(part)]


def _product(value: IntTuple) -> int:
    result = 1
    for leaf in _flatten(value):
        result *= leaf
    return result


def _compact(shape: IntTuple, step: int = 1) -> IntTuple:
    """Strides without gaps, the leftmost the smallest."""
    if isinstance(shape, int):
        return step
    strides: List[IntTuple] = []
    for part in shape:
        strides.append(_compact(part, step))
        step *= _product(part)
    return tuple(strides)


def _is_alike(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) and all(map(_is_alike, shape, stride))


def _offset(index: IntTuple, shape: IntTuple, stride: IntTuple) -> int:
    """The offset of a coordinate, each part of which may be an index of its mode. The last mode goes on beyond its size."""
    if isinstance(shape, int):
        if not isinstance(index, int):
            raise BadInput(f"coordinate {index} for a mode of size {shape}")
        return index * int(stride)  # type: ignore[arg-type]
    if isinstance(index, int):
        total = 0
        for part, step in zip(shape[:-1], stride[:-1]):  # type: ignore[index]
            size = _product(part)
            total += _offset(index % size, part, step)
            index //= size
        return total + _offset(index, shape[-1], stride[-1]) if shape else 0  # type: ignore[index]
    if len(index) != len(shape):
        raise BadInput(f"coordinate {index} for shape {shape}")
    parts: Iterable[Tuple[Any, Any, Any]] = zip(index, shape, stride)  # type: ignore[arg-type]
    return sum(_offset(i, part, step) for i, part, step in parts)


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else "(" + ",".join(map(_text, value)) + ")"


def _parse(text: str) -> IntTuple:
    """A nested tuple from its text."""
    try:
        if not re.fullmatch(r"[\d,()]+", text) or "(," in text or ",," in text:
            raise ValueError
        value = ast.literal_eval(text.replace(",)", ")").replace(")", ",)").replace("(,", "("))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise BadInput(f"'{text}' is no shape or stride") from None
    return value  # type: ignore[no-any-return]


# ---- Layouts ----


class Layout:
    """Shape and stride, both numbers or nested tuples alike; or text: Layout("(32,32):(32,1)"). Without strides it is
    compact, with the leftmost mode the fastest."""

    def __init__(self, shape: Union[IntTuple, str], stride: Optional[IntTuple] = None) -> None:
        if isinstance(shape, str):
            head, _, tail = re.sub(r"[\s_]", "", shape).partition(":")
            shape, stride = _parse(head), _parse(tail) if tail else stride
        self.shape: IntTuple = shape
        self.stride: IntTuple = _compact(shape) if stride is None else stride
        if not _is_alike(self.shape, self.stride):
            raise BadInput(f"shape {_text(self.shape)} and stride {_text(self.stride)} are not alike")
        if any(size < 1 for size in _flatten(self.shape)) or any(step < 0 for step in _flatten(self.stride)):
            raise BadInput(f"{self}: sizes are at least 1, and strides at least 0")

    def __call__(self, *coordinate: IntTuple) -> int:
        """The offset of a coordinate: an index, or one number or tuple for each mode."""
        return _offset(coordinate[0] if len(coordinate) == 1 else tuple(coordinate), self.shape, self.stride)

    @property
    def size(self) -> int:
        """Coordinates."""
        return _product(self.shape)

    @property
    def cosize(self) -> int:
        """The largest offset, and one."""
        return 1 + sum((size - 1) * step for size, step in self.flat())

    @property
    def rank(self) -> int:
        return 1 if isinstance(self.shape, int) else len(self.shape)

    def __getitem__(self, mode: int) -> "Layout":
        if isinstance(self.shape, int):
            if mode:
                raise IndexError(mode)
            return self
        return Layout(self.shape[mode], self.stride[mode])  # type: ignore[index]

    def __len__(self) -> int:
        return self.rank

    def __iter__(self) -> Iterator["Layout"]:
        return (self[mode] for mode in range(self.rank))

    def flat(self) -> List[Mode]:
        """Sizes and strides of all modes, the fastest first."""
        return list(zip(_flatten(self.shape), _flatten(self.stride)))

    def offsets(self) -> List[int]:
        """Offsets of all indices, in order."""
        return [self(index) for index in range(self.size)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.shape, self.stride) == (other.shape, other.stride)

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout('{self}')"


def _from_modes(modes: Sequence[Mode]) -> Layout:
    """A layout of flat modes; of one mode it is a number."""
    if len(modes) == 1:
        return Layout(modes[0][0], modes[0][1])
    return Layout(tuple(size for size, _ in modes), tuple(step for _, step in modes)) if modes else Layout(1, 0)


def make_layout(*parts: Layout) -> Layout:
    """A layout with these as modes."""
    return Layout(tuple(part.shape for part in parts), tuple(part.stride for part in parts))


def coalesce(layout: Layout) -> Layout:
    """The same function of an index, with as few modes as possible."""
    modes: List[Mode] = []
    for size, step in layout.flat():
        if size == 1:
            continue
        if modes and step == modes[-1][0] * modes[-1][1]:
            modes[-1] = (modes[-1][0] * size, modes[-1][1])
        else:
            modes.append((size, step))
    return _from_modes(modes)


def _pick(modes: Sequence[Mode], count: int, step: int, what: str) -> List[Mode]:
    """Modes of every step-th element of a flat layout, count of them. The last mode goes on beyond its size."""
    if step == 0 or count == 1:
        return [(count, 0)]
    picked: List[Mode] = []
    for number, (size, stride) in enumerate(modes):
        is_last = number == len(modes) - 1
        if not is_last and step >= size:
            if step % size:
                raise BadInput(f"{what} is no layout: a step of {step} does not fit modes of {size}")
            step //= size
            continue
        if not is_last and size % step:
            raise BadInput(f"{what} is no layout: a mode of {size} has no steps of {step}")
        taken = count if is_last else min(count, size // step)
        if count % taken:
            raise BadInput(f"{what} is no layout: {count} elements do not divide into {taken}")
        picked.append((taken, stride * step))
        count //= taken
        step = 1
        if count == 1:
            break
    return [mode for mode in picked if mode[0] > 1] or [(1, 0)]


def composition(outer: Layout, inner: Union[Layout, int, Tuple[Any, ...], None]) -> Layout:
    """The layout whose index i has the offset outer(inner(i)), with the shape of inner. A tuple composes mode by mode, and
    None leaves a mode as it is."""
    if inner is None:
        return outer
    if isinstance(inner, int):
        inner = Layout(inner)
    if isinstance(inner, tuple):
        if len(inner) > outer.rank:
            raise BadInput(f"{len(inner)} tilers for a layout of rank {outer.rank}")
        done = [composition(part, tiler) for part, tiler in zip(outer, inner)]
        return make_layout(*done, *list(outer)[len(inner):])
    made = _compose(coalesce(outer), inner, f"{outer} o {inner}")
    for index in range(inner.size):  # modes of inner may carry into each other's part of outer
        if made(index) != outer(inner(index)):
            raise BadInput(f"{outer} o {inner} is no layout: index {index} has the offset {outer(inner(index))}")
    return made


def _compose(outer: Layout, inner: Layout, what: str) -> Layout:
    """The composition mode by mode."""
    if not isinstance(inner.shape, int):
        return make_layout(*(_compose(outer, part, what) for part in inner))
    return _from_modes(_pick(outer.flat(), inner.shape, int(inner.stride), what))  # type: ignore[arg-type]


def complement(layout: Layout, cosize: int = 1) -> Layout:
    """The layout of what a layout leaves out: offsets of both together reach every number below cosize once."""
    modes: List[Mode] = []
    reached = 1
    for step, size in sorted((step, size) for size, step in layout.flat() if size > 1):
        if step == 0 or step % reached:
            raise BadInput(f"{layout} has no complement: it reaches an offset twice, or with gaps that no layout fills")
        if step > reached:
            modes.append((step // reached, reached))
        reached = step * size
    rest = -(-cosize // reached)
    if rest > 1:
        modes.append((rest, reached))
    return coalesce(_from_modes(modes)) if modes else Layout(1, 0)


def logical_divide(layout: Layout, tiler: Union[Layout, int, Tuple[Any, ...], None]) -> Layout:
    """A layout cut into tiles: mode 0 is the tile, mode 1 which of them. A tuple divides mode by mode."""
    if tiler is None:
        return layout
    if isinstance(tiler, tuple):
        if len(tiler) > layout.rank:
            raise BadInput(f"{len(tiler)} tilers for a layout of rank {layout.rank}")
        return make_layout(*(logical_divide(part, own) for part, own in zip(layout, tiler)), *list(layout)[len(tiler):])
    own = Layout(tiler) if isinstance(tiler, int) else tiler
    return composition(layout, make_layout(own, complement(own, layout.size)))


def logical_product(layout: Layout, tiler: Union[Layout, int]) -> Layout:
    """A layout repeated: mode 0 is the layout, mode 1 where its copies are, as the tiler orders them."""
    own = Layout(tiler) if isinstance(tiler, int) else tiler
    return make_layout(layout, composition(complement(layout, layout.size * own.cosize), own))


# ---- Swizzles ----


@dataclasses.dataclass(frozen=True)
class Swizzle:
    """CuTe's Swizzle<bits, base, shift>: XORs `bits` bits of an offset, from base + shift on, into those from base on."""

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise BadInput(f"{self}: bits and base are at least 0, and the shift is at least as many bits")

    def __call__(self, offset: int) -> int:
        mask = ((1 << self.bits) - 1) << (self.base + max(0, self.shift))
        moved = offset & mask
        return offset ^ (moved >> self.shift if self.shift >= 0 else moved << -self.shift)

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def hash_text(self, element_bytes: int) -> str:
        """As a hash of words, for check and others; the swizzle is one of offsets in elements."""
        if self.shift < 0:
            raise BadInput(f"{self}: hashes have shifts to the right only")
        return f"cute:{self.bits},{self.base},{self.shift}/{element_bytes}"


@dataclasses.dataclass(frozen=True)
class ComposedLayout:
    """A layout whose offsets go through a swizzle: Sw<3,4,3> o offset o layout."""

    swizzle: Swizzle
    layout: Layout
    offset: int = 0

    def __call__(self, *coordinate: IntTuple) -> int:
        return self.swizzle(self.offset + self.layout(*coordinate))

    @property
    def size(self) -> int:
        return self.layout.size

    def offsets(self) -> List[int]:
        return [self(index) for index in range(self.size)]

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.offset} o {self.layout}"


AnyLayout = Union[Layout, ComposedLayout]
ThreadMap = Union[Layout, Callable[[int, int], IntTuple]]


# ---- Banks ----


def _elements(tile: AnyLayout, thread_map: ThreadMap, thread: int, values: int) -> List[int]:
    """Offsets of a thread's values."""
    if isinstance(thread_map, Layout):
        if thread_map.rank == 1:
            return [tile(thread_map(thread))]
        return [tile(thread_map(thread, value)) for value in range(values)]
    return [tile(thread_map(thread, value)) for value in range(values)]


def _sizes(thread_map: ThreadMap, threads: Optional[int], values: Optional[int]) -> Tuple[int, int]:
    if not isinstance(thread_map, Layout):
        return threads or 32, values or 1
    if thread_map.rank == 1:
        return threads or thread_map.size, 1
    if thread_map.rank != 2:
        raise BadInput(f"thread map {thread_map} has {thread_map.rank} modes: threads and values are two")
    return threads or thread_map[0].size, values or thread_map[1].size


def _instruction(offsets: Sequence[Sequence[int]], vector: int, element_bytes: int) -> Tuple[Optional[int], ...]:
    """Byte addresses of lanes whose `vector` elements each lie side by side."""
    for lane, own in enumerate(offsets):
        if any(own[i] != own[0] + i for i in range(vector)):
            raise BadInput(f"the {vector} elements of lane {lane} are at {list(own)}: they are not side by side")
        if own[0] * element_bytes % (vector * element_bytes):
            raise BadInput(f"the {vector} elements of lane {lane} begin at {own[0]}, which is not a multiple of {vector}")
    return tuple(own[0] * element_bytes for own in offsets)


def accesses(tile: AnyLayout, thread_map: ThreadMap, *, element_bytes: int = 4, vector: int = 1, threads: Optional[int] = None,
             values: Optional[int] = None, op: str = "ld", machine: MachineLike = "hopper") -> Workload:
    """What warps do that read (or write, op="st") a tile through a thread map: an instruction for every `vector` values,
    which must lie side by side. The thread map is a layout (threads, values) -> index of the tile, or a function
    (thread, value) -> coordinate."""
    on = machine_of(machine)
    lanes, (count, each) = on.lanes, _sizes(thread_map, threads, values)
    if each % vector:
        raise BadInput(f"{each} values do not divide into vectors of {vector}")
    offsets = [_elements(tile, thread_map, thread, each) for thread in range(count)]
    made: List[Access] = []
    for first in range(0, count, lanes):
        warp = offsets[first:first + lanes]
        for value in range(0, each, vector):
            addresses = _instruction([own[value:value + vector] for own in warp], vector, element_bytes)
            made.append(Access(op, vector * element_bytes, addresses, 1, f"warp {first // lanes}, value {value}"))
    return Workload(made)


def conflicts(tile: AnyLayout, thread_map: ThreadMap, *, element_bytes: int = 4, vector: int = 1,
              threads: Optional[int] = None, values: Optional[int] = None, op: str = "ld",
              machine: MachineLike = "hopper") -> Check:
    """What such accesses cost."""
    return check(accesses(tile, thread_map, element_bytes=element_bytes, vector=vector, threads=threads, values=values, op=op,
                          machine=machine), None, machine)


@dataclasses.dataclass(frozen=True)
class SwizzleChoice(Result):
    """The swizzle that leaves the fewest conflicts, on offsets in elements; None: none does better than none."""

    swizzle: Optional[Swizzle]
    layout: AnyLayout
    conflicts_before: int
    conflicts_after: int
    proven: bool

    def summary(self) -> str:
        best = "no swizzle leaves fewer" if self.proven else "not proven"
        return f"{self.layout}: {self.conflicts_before} -> {self.conflicts_after} conflicts, {best}"

    def to_dict(self) -> Any:
        return {"swizzle": str(self.swizzle) if self.swizzle else None, "layout": str(self.layout),
                "conflicts_before": self.conflicts_before, "conflicts_after": self.conflicts_after, "proven": self.proven}


def best_swizzle(tile: Layout, *thread_maps: ThreadMap, element_bytes: int = 4, vector: Union[int, Iterable[int]] = 1,
                 threads: Optional[int] = None, values: Optional[int] = None, op: str = "ld", machine: MachineLike = "hopper",
                 time_limit_seconds: float = 10) -> SwizzleChoice:
    """The swizzle for a tile that is accessed through one or several thread maps: one vector for all, or one for each. The
    widest access stays whole. The result is counted on the swizzled layout again."""
    on = machine_of(machine)
    widths = [vector] * len(thread_maps) if isinstance(vector, int) else list(vector)
    if not thread_maps or len(widths) != len(thread_maps):
        raise BadInput(f"{len(thread_maps)} thread maps with {len(widths)} vectors")
    if element_bytes & (element_bytes - 1):
        raise BadInput(f"elements of {element_bytes} bytes: swizzles are for powers of two")

    def all_accesses(layout: AnyLayout) -> List[Access]:
        return [access for thread_map, width in zip(thread_maps, widths)
                for access in accesses(layout, thread_map, element_bytes=element_bytes, vector=width, threads=threads,
                                       values=values, op=op, machine=on)]

    work = Workload(all_accesses(tile))
    granule = max(widths) * element_bytes
    found = solve(work, on, class_="cute", granule_bytes=granule if granule > on.word_bytes else 0,
                  time_limit_seconds=time_limit_seconds)
    numbers = re.fullmatch(r"cute:(\d+),(\d+),(\d+)", found.hash)
    if not numbers or found.conflicts_after == found.conflicts_before:
        return SwizzleChoice(None, tile, found.conflicts_before, found.conflicts_before, found.proven)
    bits, base, shift = map(int, numbers.groups())
    swizzle = Swizzle(bits, base - (element_bytes.bit_length() - 1), shift)
    swizzled = ComposedLayout(swizzle, tile)
    after = check(Workload(all_accesses(swizzled)), None, on).total.conflicts
    return SwizzleChoice(swizzle, swizzled, found.conflicts_before, after, found.proven)
