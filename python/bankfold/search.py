"""Hashes that remove conflicts."""
import ctypes
import dataclasses
import operator
from typing import Any, Callable, Iterable, List, Optional, Tuple

from . import _declarations as c
from ._native import Owned, Watch, library, names, options, text_of
from .memory import AccessesLike, Hash, HashCost, HashLike, Machine, MachineLike, hash_of, machine_of, workload_of
from .tables import Result

__all__ = ["Solution", "Joint", "ArraySolution", "Arrays", "Step", "Ladder", "solve", "solve_joint", "solve_arrays",
           "ladder", "emit", "emit_forms"]

METHODS = {"exact": c.BF_METHOD_EXACT, "bit-vector": c.BF_METHOD_BIT_VECTOR, "givargis": c.BF_METHOD_GIVARGIS,
           "min-imbalance": c.BF_METHOD_MIN_IMBALANCE, "padding": c.BF_METHOD_PADDING, "modulo": c.BF_METHOD_MODULO}
CLASSES = {"general": c.BF_CLASS_GENERAL, "row": c.BF_CLASS_ROW, "cute": c.BF_CLASS_CUTE, "one-term": c.BF_CLASS_ONE_TERM,
           "two-term": c.BF_CLASS_TWO_TERM, "tma": c.BF_CLASS_TMA}

Progress = Optional[Callable[[float, int, int], Any]]


@dataclasses.dataclass(frozen=True)
class Solution(Result):
    """The best hash of a class that was found."""

    hash: str
    conflicts_before: int
    conflicts_after: int
    lower_bound: int
    proven: bool
    bytes_wasted: int
    cost: HashCost
    seconds: float
    machine: str

    def summary(self) -> str:
        proof = "proven best of its class" if self.proven else f"no hash of the class leaves fewer than {self.lower_bound}"
        return f"{self.hash}: {self.conflicts_before} -> {self.conflicts_after} conflicts, {proof}"

    def to_hash(self) -> Hash:
        return Hash(self.hash, self.machine)


def _word(table: Any, word: str, what: str) -> int:
    if word not in table:
        raise ValueError(f"no {what} '{word}'; there are {', '.join(table)}")
    return int(table[word])


Also = Iterable[Tuple[AccessesLike, MachineLike]]


class _Cases:
    """Further accesses on machines, as the library takes them; they must live as long as the call."""

    def __init__(self, also: Also, op: str, width_bytes: int) -> None:
        self._kept = [(workload_of(accesses, machine_of(machine), op, width_bytes), machine_of(machine))
                      for accesses, machine in also]
        self.count = len(self._kept)
        self.list = (c.bf_solve_case * max(self.count, 1))()
        for at, (work, on) in zip(self.list, self._kept):
            at.machine, at.workload = on.address, work.address


def solve(accesses: AccessesLike, machine: MachineLike = "hopper", *, method: str = "exact", class_: str = "general",
          keeps_rows: bool = False, pairs: bool = False, granule_bytes: int = 0, time_limit_seconds: float = 10,
          threads: int = 0, progress: Progress = None, op: str = "ld", width_bytes: int = 4, also: Also = (),
          most_gates: Optional[int] = None) -> Solution:
    """Looks for the hash that leaves the fewest conflicts. progress gets seconds and the bounds of the answer now and
    then, and stops the search by returning False; the best hash until then is the result. also has further pairs of
    accesses and machine that the same hash serves; most_gates allows only hashes of so many 2-input XORs."""
    on = machine_of(machine)
    work = workload_of(accesses, on, op, width_bytes)
    cases = _Cases(also, op, width_bytes)
    watch = Watch(c.bf_progress, progress)
    given = options(c.bf_solve_options, method=_word(METHODS, method, "method"), class_=_word(CLASSES, class_, "class"),
                    keeps_rows=keeps_rows, pairs=pairs, granule_bytes=granule_bytes,
                    time_limit_seconds=time_limit_seconds, threads=threads, progress=watch.callback,
                    also=cases.list, also_count=cases.count, has_most_gates=most_gates is not None,
                    most_gates=most_gates or 0)
    found = c.bf_solution()
    watch.call("bf_solve", on.address, work.address, ctypes.byref(given), ctypes.byref(found))
    try:
        return _solution(found, on)
    finally:
        library.bf_solution_clear(ctypes.byref(found))


def _solution(found: c.bf_solution, on: Machine) -> Solution:
    cost = found.cost
    return Solution(text_of(library.bf_hash_text(found.hash)), found.conflicts_before, found.conflicts_after,
                    found.lower_bound, found.proven, found.bytes_wasted,
                    HashCost(cost.xor_inputs, cost.instructions, cost.gate_depth, cost.gates), found.seconds, on.name)


@dataclasses.dataclass(frozen=True)
class Joint(Result):
    """The best hash for data that are moved as well: pad_words after every row_words (0: none), and base_bytes later."""

    solution: Solution
    row_words: int
    pad_words: int
    base_bytes: int
    tried: int
    all: int

    def summary(self) -> str:
        padding = f"{self.pad_words} words after every {self.row_words}" if self.pad_words else "no padding"
        return f"{self.solution.summary()}; {padding}, data {self.base_bytes} bytes later ({self.tried} of {self.all} ways tried)"


def solve_joint(accesses: AccessesLike, machine: MachineLike = "hopper", *, class_: str = "general", granule_bytes: int = 0,
                time_limit_seconds: float = 10, threads: int = 0, progress: Progress = None, op: str = "ld",
                width_bytes: int = 4) -> Joint:
    """Looks for a hash, padding and the base address together."""
    on = machine_of(machine)
    work = workload_of(accesses, on, op, width_bytes)
    watch = Watch(c.bf_progress, progress)
    given = options(c.bf_solve_options, method=c.BF_METHOD_EXACT, class_=_word(CLASSES, class_, "class"),
                    granule_bytes=granule_bytes, time_limit_seconds=time_limit_seconds, threads=threads,
                    progress=watch.callback)
    found = c.bf_joint()
    watch.call("bf_solve_joint", on.address, work.address, ctypes.byref(given), ctypes.byref(found))
    try:
        return Joint(_solution(found.solution, on), found.row_words, found.pad_words, found.base_bytes, found.tried,
                     found.all)
    finally:
        library.bf_joint_clear(ctypes.byref(found))


@dataclasses.dataclass(frozen=True)
class ArraySolution(Result):
    """The best hash of one array, of the offset from where it begins."""

    begin_bytes: int
    accesses: int
    solution: Solution

    @property
    def hash(self) -> str:
        return self.solution.hash

    @property
    def before(self) -> int:
        return self.solution.conflicts_before

    @property
    def after(self) -> int:
        return self.solution.conflicts_after


@dataclasses.dataclass(frozen=True)
class Arrays(Result):
    """A hash for each array that is accessed."""

    arrays: List[ArraySolution]
    conflicts_before: int
    conflicts_after: int
    lower_bound: int
    proven: bool

    ROWS = "arrays"
    COLUMNS = (("begins at", "begin_bytes"), ("accesses", "accesses"), ("conflicts before", "before"), ("after", "after"),
               ("hash", "hash"))

    def summary(self) -> str:
        proof = "no hashes leave fewer" if self.proven else f"no hashes leave fewer than {self.lower_bound}"
        return f"{self.conflicts_before} -> {self.conflicts_after} conflicts, {proof}"


def solve_arrays(accesses: AccessesLike, begin_bytes: Iterable[int], machine: MachineLike = "hopper", *,
                 class_: str = "general", granule_bytes: int = 0, time_limit_seconds: float = 10, threads: int = 0,
                 progress: Progress = None, op: str = "ld", width_bytes: int = 4) -> Arrays:
    """Looks for a hash for each of the arrays that begin at these bytes, ascending; no access may touch two of them."""
    on = machine_of(machine)
    work = workload_of(accesses, on, op, width_bytes)
    begins = [operator.index(begin) for begin in begin_bytes]
    if any(not 0 <= begin < 1 << 64 for begin in begins):
        raise ValueError("arrays begin at numbers from 0 on")
    watch = Watch(c.bf_progress, progress)
    given = options(c.bf_solve_options, method=c.BF_METHOD_EXACT, class_=_word(CLASSES, class_, "class"),
                    granule_bytes=granule_bytes, time_limit_seconds=time_limit_seconds, threads=threads,
                    progress=watch.callback)
    out = ctypes.c_void_p()
    watch.call("bf_solve_arrays", on.address, work.address, (ctypes.c_uint64 * max(len(begins), 1))(*begins), len(begins),
               ctypes.byref(given), ctypes.byref(out))
    owned = Owned(out.value or 0, "bf_arrays_free")
    found: List[ArraySolution] = []
    while library.bf_arrays_get(owned.address, len(found)):
        at = library.bf_arrays_get(owned.address, len(found)).contents
        found.append(ArraySolution(at.begin_bytes, at.accesses, _solution(at.solution, on)))
    return Arrays(found, sum(at.before for at in found), sum(at.after for at in found),
                  sum(at.solution.lower_bound for at in found), all(at.solution.proven for at in found))


@dataclasses.dataclass(frozen=True)
class Step(Result):
    """One way to remove conflicts."""

    name: str
    hash: str
    conflicts: int
    bytes_wasted: int
    instructions: int
    gates: int
    gate_delays: int
    proven: bool


@dataclasses.dataclass(frozen=True)
class Ladder(Result):
    """All fixes, from doing nothing to the best hash, and which of them to take."""

    steps: List[Step]
    recommended: Step
    reason: str
    machine: str

    ROWS = "steps"
    COLUMNS = (("fix", "name"), ("conflicts", "conflicts"), ("bytes wasted", "bytes_wasted"), ("instructions", "instructions"),
               ("proven", "proven"), ("hash", "hash"))

    def summary(self) -> str:
        return f"recommended: {self.recommended.name} ({self.recommended.hash}): {self.reason}"


def ladder(accesses: AccessesLike, machine: MachineLike = "hopper", *, granule_bytes: int = 0,
           time_limit_seconds: float = 10, threads: int = 0, progress: Progress = None, op: str = "ld",
           width_bytes: int = 4, also: Also = (), front: bool = False, instruction_wavefronts: float = 0.25) -> Ladder:
    """Every fix with what it costs and leaves; with front, those that no other beats in conflicts and cost. also as for
    solve; instruction_wavefronts is what an instruction counts for when a fix is recommended."""
    on = machine_of(machine)
    work = workload_of(accesses, on, op, width_bytes)
    cases = _Cases(also, op, width_bytes)
    watch = Watch(c.bf_progress, progress)
    given = options(c.bf_solve_options, granule_bytes=granule_bytes, time_limit_seconds=time_limit_seconds, threads=threads,
                    progress=watch.callback, also=cases.list, also_count=cases.count, front=front,
                    instruction_wavefronts=instruction_wavefronts)
    if instruction_wavefronts == 0:
        given.instruction_wavefronts = -1
    out = ctypes.c_void_p()
    watch.call("bf_ladder_create", on.address, work.address, ctypes.byref(given), ctypes.byref(out))
    owned = Owned(out.value or 0, "bf_ladder_free")
    steps, index = [], 0
    while library.bf_ladder_get(owned.address, index):
        at = library.bf_ladder_get(owned.address, index).contents
        steps.append(Step(text_of(at.name), text_of(at.hash), at.conflicts, at.bytes_wasted, at.instructions, at.gates,
                          at.gate_delays, at.proven))
        index += 1
    return Ladder(steps, steps[library.bf_ladder_recommended(owned.address)],
                  text_of(library.bf_ladder_reason(owned.address)), on.name)


def emit_forms() -> List[str]:
    """Forms in which a hash can be written as code."""
    return names("bf_emit_form")


def emit(hash: HashLike, form: str, machine: MachineLike = "hopper", *, name: Optional[str] = None,
         testbench: bool = False, element_bytes: int = 0, columns: int = 0) -> str:
    """A hash as code."""
    on: Machine = machine_of(machine)
    placed = hash_of(hash, on) or Hash("none", on)
    return placed.emit(form, name=name, testbench=testbench, element_bytes=element_bytes, columns=columns)
