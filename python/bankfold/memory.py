"""Machines, hashes, accesses, and what accesses cost."""
import ctypes
import dataclasses
import operator
import os
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from . import _declarations as c
from ._native import Owned, call, create, encode, handed_text, library, names, options, text_of
from .errors import BadInput, from_diagnostic
from .tables import Result

__all__ = ["Machine", "Hash", "HashCost", "Access", "Workload", "Cost", "AccessCost", "Check", "BankMap", "machines", "check",
           "layout", "read_trace"]

MachineLike = Union["Machine", str]
HashLike = Union["Hash", str, None]
AccessesLike = Any  # see workload()


def machines() -> List[str]:
    """The names of the machines that are built in."""
    return names("bf_machine_builtin")


class Machine:
    """A banked memory: a built-in name ("hopper"), or the path of a machine file. Numbers replace the machine's own."""

    def __init__(self, name: str = "hopper", *, banks: int = 0, word_bytes: int = 0, lanes: int = 0,
                 address_bits: int = 0) -> None:
        overrides = options(c.bf_overrides, banks=banks, word_bytes=word_bytes, lanes=lanes, address_bits=address_bits)
        self._owned = create("bf_machine_free", "bf_machine_load", encode(name), ctypes.byref(overrides))
        self._read()

    @classmethod
    def parse(cls, text: str, name: str = "machine") -> "Machine":
        """From the text of a machine file; name is for messages."""
        made = cls.__new__(cls)
        made._owned = create("bf_machine_free", "bf_machine_parse", encode(name), encode(text))
        made._read()
        return made

    def _read(self) -> None:
        address = self._owned.address
        geometry = library.bf_machine_geometry(address)
        self.name: str = text_of(library.bf_machine_name(address))
        self.title: str = text_of(library.bf_machine_title(address))
        self.banks: int = 1 << geometry.bank_bits
        self.word_bytes: int = geometry.word_bytes
        self.address_bits: int = geometry.address_bits
        self.lanes: int = library.bf_machine_lanes(address)
        self.capacity_bytes: int = library.bf_machine_capacity_bytes(address)
        self.geometry = geometry

    @property
    def address(self) -> int:
        return self._owned.address

    def __repr__(self) -> str:
        return f"Machine({self.name!r}: {self.banks} banks of {self.word_bytes} bytes, {self.lanes} lanes)"


def machine_of(given: MachineLike) -> Machine:
    return given if isinstance(given, Machine) else Machine(given)


@dataclasses.dataclass(frozen=True)
class HashCost(Result):
    """What a hash costs in hardware and in software."""

    xor_inputs: int
    instructions: int
    gate_depth: int
    gates: int


class Hash:
    """A function from word addresses to banks, from its text: "xor:0,5,31", "pad:32+1", "cute:5,0,5", ..."""

    def __init__(self, text: str, machine: MachineLike = "hopper") -> None:
        self.machine = machine_of(machine)
        self._owned = create("bf_hash_free", "bf_hash_parse", encode(text), ctypes.byref(self.machine.geometry))

    @classmethod
    def from_rows(cls, rows: Sequence[int], machine: MachineLike = "hopper") -> "Hash":
        """The XOR hash whose bank bit i is the parity of (word address & rows[i])."""
        made = cls.__new__(cls)
        made.machine = machine_of(machine)
        if 1 << len(rows) != made.machine.banks:
            raise BadInput(f"{len(rows)} rows for {made.machine.banks} banks")
        array = (ctypes.c_uint64 * len(rows))(*rows)
        made._owned = create("bf_hash_free", "bf_hash_from_rows", array, ctypes.byref(made.machine.geometry))
        return made

    @property
    def address(self) -> int:
        return self._owned.address

    @property
    def text(self) -> str:
        """Its canonical text."""
        return text_of(library.bf_hash_text(self.address))

    @property
    def cost(self) -> HashCost:
        cost = library.bf_hash_get_cost(self.address)
        return HashCost(cost.xor_inputs, cost.instructions, cost.gate_depth, cost.gates)

    def bank(self, word: int) -> int:
        """The bank that holds a word."""
        return int(library.bf_hash_bank(self.address, word))

    def place(self, word: int) -> int:
        """The word address at which a word is put."""
        return int(library.bf_hash_place(self.address, word))

    def unplace(self, place: int) -> int:
        """The word that is put at a place."""
        word = ctypes.c_uint64()
        if library.bf_hash_unplace(self.address, place, ctypes.byref(word)):
            raise BadInput(f"hash {self.text} puts no word at {place}")
        return word.value

    def emit(self, form: str, *, name: Optional[str] = None, testbench: bool = False, element_bytes: int = 0,
             columns: int = 0) -> str:
        """The hash as code: form is one of emit_forms()."""
        given = options(c.bf_emit_options, name=encode(name), testbench=testbench, element_bytes=element_bytes,
                        columns=columns)
        return handed_text("bf_hash_emit", self.address, encode(form), ctypes.byref(given))

    def __repr__(self) -> str:
        return f"Hash({self.text!r})"

    def __str__(self) -> str:
        return self.text


def hash_of(given: HashLike, machine: Machine) -> Optional[Hash]:
    """The hash for a machine; None: none."""
    return Hash(given, machine) if isinstance(given, str) else given


# ---- Accesses ----


@dataclasses.dataclass(frozen=True)
class Access(Result):
    """What one warp does in one instruction. addresses has a byte address for each lane, or None where it is idle."""

    op: str
    width_bytes: int
    addresses: Tuple[Optional[int], ...]
    count: int = 1
    site: Optional[str] = None
    line: int = 0

    @classmethod
    def parse(cls, text: str, machine: MachineLike = "hopper") -> "Access":
        """From a line of a trace: "ld 4 ffffffff stride:32"."""
        found = list(Workload.parse(text, machine))
        if len(found) != 1:
            raise BadInput(f"{len(found)} accesses where one is wanted")
        return found[0]

    @property
    def lanes(self) -> int:
        """Lanes that take part."""
        return sum(address is not None for address in self.addresses)

    def to_native(self) -> "c.bf_access":
        made = c.bf_access()
        made.op = library.bf_op_find(encode(self.op))
        if made.op < 0:
            raise BadInput(f"there is no operation '{self.op}'")
        if len(self.addresses) > c.BF_MAX_LANES:
            raise BadInput(f"{len(self.addresses)} lanes: at most {c.BF_MAX_LANES} are possible")
        made.width_bytes, made.count, made.line, made.site = self.width_bytes, self.count, self.line, encode(self.site)
        wrong = next((lane for lane, address in enumerate(self.addresses)
                      if address is not None and not 0 <= address < 1 << 32), None)
        if wrong is not None:
            raise BadInput(f"lane {wrong} has address {self.addresses[wrong]}, which is none of shared memory")
        made.address[:len(self.addresses)] = [address or 0 for address in self.addresses]
        if None in self.addresses:
            made.mask = sum(1 << lane for lane, address in enumerate(self.addresses) if address is not None)
        else:
            made.mask = (1 << len(self.addresses)) - 1
        return made

    @classmethod
    def from_native(cls, from_: "c.bf_access") -> "Access":
        top = from_.mask.bit_length()
        mask, listed = from_.mask, from_.address[:top]
        addresses = tuple(address if mask >> lane & 1 else None for lane, address in enumerate(listed))
        return cls(text_of(library.bf_op_name(from_.op)), from_.width_bytes, addresses, from_.count,
                   from_.site.decode(errors="replace") if from_.site else None, from_.line)


_FORMS = {"own": c.BF_TRACE_OWN, "nvbit": c.BF_TRACE_NVBIT, "accelsim": c.BF_TRACE_ACCELSIM}


class Workload:
    """A weighted set of accesses: identical ones are merged, and their counts added."""

    def __init__(self, accesses: Iterable[Access] = ()) -> None:
        out = ctypes.c_void_p()
        error = library.bf_workload_create(ctypes.byref(out))
        if error or not out.value:
            raise MemoryError
        self._owned = Owned(out.value, "bf_workload_free")
        for access in accesses:
            self.add(access)

    @classmethod
    def _take(cls, owned: Any) -> "Workload":
        made = cls.__new__(cls)
        made._owned = owned
        return made

    @classmethod
    def read(cls, path: "Union[str, os.PathLike[str]]", machine: MachineLike = "hopper", form: str = "own") -> "Workload":
        """From a trace file; form is "own", "nvbit" or "accelsim"."""
        on = machine_of(machine)  # must live as long as the call
        return cls._take(create("bf_workload_free", "bf_workload_read_form", os.fsencode(path), _FORMS[form], on.address))

    @classmethod
    def parse(cls, text: Union[str, bytes], machine: MachineLike = "hopper", form: str = "own",
              name: str = "trace") -> "Workload":
        """From a trace in memory; name is for messages."""
        data = text.encode() if isinstance(text, str) else bytes(text)
        on = machine_of(machine)
        given = options(c.bf_trace_options, name=encode(name), form=_FORMS[form])
        return cls._take(create("bf_workload_free", "bf_workload_parse", data, len(data), on.address, ctypes.byref(given)))

    @property
    def address(self) -> int:
        return self._owned.address

    def add(self, access: Access) -> None:
        if library.bf_workload_add(self.address, ctypes.byref(access.to_native())):
            raise BadInput(f"no machine can make this access: {access!r}")

    def natives(self) -> Iterator["c.bf_access"]:
        for index in range(len(self)):
            yield library.bf_workload_get(self.address, index).contents

    def __len__(self) -> int:
        return int(library.bf_workload_size(self.address))

    def __iter__(self) -> Iterator[Access]:
        return (Access.from_native(access) for access in self.natives())

    def __repr__(self) -> str:
        return f"Workload({len(self)} accesses)"


def read_trace(path: "Union[str, os.PathLike[str]]", machine: MachineLike = "hopper", form: str = "own") -> Iterator[Access]:
    """The accesses of a trace file one by one, however long it is; form as in Workload.read."""
    on = machine_of(machine)
    given = options(c.bf_trace_options, form=_FORMS[form])
    owned = create("bf_trace_close", "bf_trace_read", os.fsencode(path), on.address, ctypes.byref(given))
    at = ctypes.POINTER(c.bf_access)()
    why = c.bf_diagnostic()
    while True:
        result = library.bf_trace_step(owned.address, ctypes.byref(at), ctypes.byref(why))
        if result < 0:
            raise from_diagnostic(result, why)
        if result == 0:
            return
        yield Access.from_native(at.contents)


def _rows(addresses: Any) -> List[List[Any]]:
    """Addresses of one access, or of several, as lists: of lists, tuples and numpy arrays."""
    listed = addresses.tolist() if hasattr(addresses, "tolist") else list(addresses)
    if listed and all(hasattr(row, "__iter__") for row in listed):
        return [row.tolist() if hasattr(row, "tolist") else list(row) for row in listed]
    return [listed]


def workload_of(given: AccessesLike, machine: Machine, op: str = "ld", width_bytes: int = 4) -> Workload:
    """Accesses as they may be given: a workload; an access, or several; text in the form of a trace; the path of a
    trace file, as an object of pathlib; or byte addresses of the lanes, as a sequence or numpy array, with a row for
    each access where there are several (op and width_bytes say what they do)."""
    if isinstance(given, Workload):
        return given
    if isinstance(given, (str, bytes)):
        return Workload.parse(given, machine)
    if isinstance(given, os.PathLike):
        return Workload.read(given, machine)
    if isinstance(given, Access):
        return Workload([given])
    if isinstance(given, (list, tuple)) and given and all(isinstance(item, Access) for item in given):
        return Workload(given)
    try:
        accesses = [Access(op, width_bytes, tuple(None if lane is None else operator.index(lane) for lane in row))
                    for row in _rows(given)]
    except TypeError as why:
        raise BadInput(f"these are no byte addresses of lanes: {why}") from None
    for index, access in enumerate(accesses):
        if len(access.addresses) > machine.lanes:
            raise BadInput(f"access {index} has {len(access.addresses)} lanes; {machine.name} has {machine.lanes}")
    return Workload(accesses)


# ---- Counting ----


@dataclasses.dataclass(frozen=True)
class Cost(Result):
    """What a set of accesses costs."""

    accesses: int
    wavefronts: int
    ideal: int
    conflicts: int
    estimated: bool


@dataclasses.dataclass(frozen=True)
class AccessCost(Result):
    """What one access costs each time, and how often it is made."""

    site: Optional[str]
    line: int
    op: str
    width_bytes: int
    count: int
    wavefronts: int
    ideal: int
    conflicts: int
    estimated: bool
    access: Access


@dataclasses.dataclass(frozen=True)
class Check(Result):
    """What accesses cost, one by one and together."""

    machine: str
    hash: str
    total: Cost
    accesses: List[AccessCost]

    ROWS = "accesses"
    COLUMNS = (("conflicts", "conflicts"), ("wavefronts", "wavefronts"), ("ideal", "ideal"), ("count", "count"), ("op", "op"),
               ("bytes", "width_bytes"), ("line", "line"), ("site", "site"))

    def summary(self) -> str:
        total = self.total
        return (f"{self.machine}, hash {self.hash}: {total.accesses} accesses, {total.wavefronts} wavefronts, "
                f"{total.ideal} ideal, {total.conflicts} conflicts")


def _count(machine: Machine, hash_: Optional[Hash], access: "c.bf_access") -> AccessCost:
    count = c.bf_count()
    call("bf_memory_count", machine.address, hash_ and hash_.address, ctypes.byref(access), ctypes.byref(count))
    wavefronts = count.wavefronts_load + count.wavefronts_store + count.wavefronts_atomic
    made = Access.from_native(access)
    return AccessCost(made.site, made.line, made.op, made.width_bytes, made.count, wavefronts, count.ideal, count.conflicts,
                      count.estimated, made)


def check(accesses: AccessesLike, hash: HashLike = None, machine: MachineLike = "hopper", *, op: str = "ld",
          width_bytes: int = 4) -> Check:
    """Counts wavefronts and conflicts of accesses, most conflicts first."""
    on = machine_of(machine)
    placed = hash_of(hash, on)
    work = workload_of(accesses, on, op, width_bytes)
    totals = c.bf_workload_totals()
    call("bf_memory_count_workload", on.address, placed and placed.address, work.address, ctypes.byref(totals))
    each = sorted((_count(on, placed, access) for access in work.natives()), key=lambda cost: -cost.conflicts * cost.count)
    return Check(on.name, placed.text if placed else "none",
                 Cost(totals.accesses, totals.wavefronts, totals.ideal, totals.conflicts, totals.estimated), each)


# ---- Where words lie ----


@dataclasses.dataclass(frozen=True)
class BankMap(Result):
    """The bank of every element of an array with rows and columns."""

    machine: str
    hash: str
    element_bytes: int
    banks: List[List[int]]

    def __str__(self) -> str:
        width = len(str(max((max(row) for row in self.banks if row), default=0)))
        return "\n".join(" ".join(str(bank).rjust(width) for bank in row) for row in self.banks)

    def _repr_html_(self) -> str:
        most = max((max(row) for row in self.banks if row), default=0) + 1
        body = "".join("<tr>" + "".join(f'<td style="background:hsl({360 * bank // most},70%,80%);color:#000">{bank}</td>'
                                        for bank in row) + "</tr>" for row in self.banks)
        return f"<table>{body}</table>"

    def column_conflicts(self) -> int:
        """The most elements of a column that share a bank: wavefronts of a read down that column."""
        columns: List[List[int]] = [list(column) for column in zip(*self.banks)]
        return max((max(_tally(column).values()) for column in columns if column), default=0)


def _tally(items: Iterable[int]) -> Dict[int, int]:
    counts: Dict[int, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def layout(hash: HashLike, rows: int, columns: int, machine: MachineLike = "hopper", *, element_bytes: int = 4,
           base: int = 0) -> BankMap:
    """In which bank each element of a row-major array lies, from byte address base on; of elements longer than a word,
    that of the first word."""
    on = machine_of(machine)
    placed = hash_of(hash, on) or Hash("none", on)
    lie = [[placed.bank((base + (row * columns + column) * element_bytes) // on.word_bytes) for column in range(columns)]
           for row in range(rows)]
    return BankMap(on.name, placed.text, element_bytes, lie)
