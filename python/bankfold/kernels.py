"""Kernels in PTX: analysed, run, simulated and rewritten without a GPU."""
import ctypes
import dataclasses
import functools
import os
import struct
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _declarations as c
from ._native import Owned, Remarks, Watch, call, create, encode, handed_text, library, names, numbered, options, text_of
from .errors import BadInput
from .memory import Access, Hash, HashLike, Machine, MachineLike, Workload, hash_of, machine_of
from .tables import Result

__all__ = ["Module", "Kernel", "Parameter", "Site", "Analysis", "Line", "Profile", "Stall", "SimulatedLine", "Simulation",
           "RewrittenKernel", "Rewriting", "TunedKernel", "Tuning", "Image", "images", "gpus", "analyze", "profile",
           "simulate", "rewrite", "tune"]

PtxLike = Union["Module", str, bytes, "os.PathLike[str]"]
Shape = Union[int, Sequence[int]]


def gpus() -> List[str]:
    """The names of the GPUs that are built in, for simulate and tune."""
    return names("bf_gpu_builtin")


def _shape(given: Optional[Shape]) -> Tuple[int, int, int]:
    """Three numbers; 0: not given."""
    if given is None:
        return (0, 0, 0)
    listed = [int(given)] if isinstance(given, int) else [int(number) for number in given]
    if len(listed) > 3 or any(not 0 <= number < 1 << 32 for number in listed):
        raise BadInput(f"{given!r} is no size of a block or grid")
    one = 1 if listed and listed[0] else 0
    x, y, z = (listed + [one] * 3)[:3]
    return (x, y, z)


# ---- Modules ----


@dataclasses.dataclass(frozen=True)
class Parameter(Result):
    """A parameter of a kernel."""

    name: str
    type: str
    offset_bytes: int
    bytes: int
    is_array: bool


@dataclasses.dataclass(frozen=True)
class Kernel(Result):
    """What the PTX says of a kernel."""

    name: str
    readable_name: str
    line: int
    has_lines: bool
    shared_bytes: int
    has_dynamic_shared: bool
    block: Optional[Tuple[int, int, int]]
    instructions: int
    shared_accesses: int
    parameters: List[Parameter]


@dataclasses.dataclass(frozen=True)
class Image(Result):
    """An image in a program: code of a module for an architecture."""

    module: int
    kind: str
    architecture: str
    source: Optional[str]
    bytes: int


def _read(data: Union[str, bytes, "os.PathLike[str]"], name: Optional[str]) -> Tuple[bytes, str]:
    """The bytes of PTX or a program, and what messages call them."""
    if isinstance(data, os.PathLike):
        with open(data, "rb") as file:
            return file.read(), name or os.fspath(data)
    return (data.encode() if isinstance(data, str) else bytes(data)), name or "ptx"


def images(program: Union[str, bytes, "os.PathLike[str]"]) -> List[Image]:
    """What is in a program, library, object file or fat binary: a path of pathlib, or its bytes."""
    data, name = _read(program, None)
    binary = create("bf_binary_free", "bf_binary_parse", data, len(data), encode(name))
    return [Image(at.module, text_of(at.kind), text_of(at.architecture), text_of(at.source) if at.source else None, at.bytes)
            for at in numbered(lambda index: library.bf_binary_get(binary.address, index))]


class Module:
    """PTX, parsed: text, bytes of PTX or of a program that nvcc made, or a path of pathlib. number and architecture choose
    where a program has several modules."""

    def __init__(self, ptx: Union[str, bytes, "os.PathLike[str]"], name: Optional[str] = None, *, number: int = 0,
                 architecture: Optional[str] = None) -> None:
        data, self.name = _read(ptx, name)
        if number or architecture:
            binary = create("bf_binary_free", "bf_binary_parse", data, len(data), encode(self.name))
            self._owned = create("bf_module_free", "bf_binary_get_module", binary.address, number or 1, encode(architecture))
        else:
            self._owned = create("bf_module_free", "bf_module_parse", data, len(data), encode(self.name))
        self.kernels: Dict[str, Kernel] = {kernel.name: kernel for kernel in self._list()}

    @property
    def address(self) -> int:
        return self._owned.address

    @property
    def text(self) -> str:
        """The module as PTX."""
        return handed_text("bf_module_text", self.address)

    def _list(self) -> Iterable[Kernel]:
        for at in numbered(lambda index: library.bf_module_get(self.address, index)):
            get = functools.partial(library.bf_module_parameter, self.address, at.name)
            parameters = [Parameter(text_of(p.name), text_of(p.type), p.offset_bytes, p.bytes, p.is_array) for p in numbered(get)]
            block = (at.block[0], at.block[1], at.block[2])
            yield Kernel(text_of(at.name), text_of(at.readable_name), at.line, at.has_lines, at.shared_bytes,
                         at.has_dynamic_shared, block if block[0] else None, at.instructions, at.shared_accesses, parameters)

    def kernel(self, name: Optional[str] = None) -> Kernel:
        """The kernel of that name, as in the PTX or as in C++; without a name the only one."""
        if name is None:
            if len(self.kernels) != 1:
                raise BadInput(f"{self.name} has {len(self.kernels)} kernels; name one of: {', '.join(self.kernels)}")
            return next(iter(self.kernels.values()))
        found = library.bf_module_find(self.address, encode(name))
        if not found:
            raise BadInput(f"{self.name} has no kernel '{name}'; there are: {', '.join(self.kernels) or 'none'}")
        return self.kernels[text_of(found.contents.name)]

    def __repr__(self) -> str:
        return f"Module({self.name!r}: {', '.join(self.kernels)})"


def module_of(given: PtxLike) -> Module:
    return given if isinstance(given, Module) else Module(given)


# ---- Arguments ----


class Arguments:
    """Arguments of Python for the parameters of a kernel. What has a buffer (numpy arrays, bytearray, array.array,
    memoryview) is memory of the device: copied there before the launch and, where it can be written, back after it.
    Numbers become what the parameter is; None is a value that is not known, for the analysis."""

    def __init__(self, kernel: Kernel, given: Sequence[Any]) -> None:
        if len(given) > len(kernel.parameters):
            raise BadInput(f"{len(given)} arguments for kernel '{kernel.name}' with {len(kernel.parameters)} parameters")
        self._kept: List[Any] = []
        self.array = (c.bf_argument * max(1, len(given)))()
        self.count = len(given)
        for index, value in enumerate(given):
            self._place(self.array[index], kernel, kernel.parameters[index], index, value)

    def _place(self, to: "c.bf_argument", kernel: Kernel, parameter: Parameter, index: int, value: Any) -> None:
        if value is None:
            to.bytes = parameter.bytes
            return
        if _is_scalar(value):
            data = _pack(kernel, parameter, index, value)
            to.bytes = len(data)
            setattr(to, "in", self._keep(ctypes.create_string_buffer(data, len(data))))
            return
        if isinstance(value, bytes) and parameter.is_array:  # a struct by value
            to.bytes = len(value)
            setattr(to, "in", self._keep(ctypes.create_string_buffer(value, len(value))))
            return
        self._place_buffer(to, index, value)

    def _place_buffer(self, to: "c.bf_argument", index: int, value: Any) -> None:
        try:
            view = memoryview(_array_of(value))
        except TypeError:
            raise BadInput(f"argument {index} is a {type(value).__name__}, which has no memory to give to a kernel") from None
        if not view.c_contiguous:
            raise BadInput(f"argument {index} does not lie in memory in one piece; numpy.ascontiguousarray makes a copy "
                           "that does")
        flat = view.cast("B") if view.nbytes else view
        to.is_buffer, to.bytes = True, view.nbytes
        if not view.nbytes:
            return
        if view.readonly:
            setattr(to, "in", self._keep(ctypes.create_string_buffer(bytes(flat), view.nbytes)))
            return
        held = (ctypes.c_char * view.nbytes).from_buffer(flat)
        setattr(to, "in", self._keep(held))
        to.out = ctypes.addressof(held)

    def _keep(self, held: Any) -> int:
        self._kept.append(held)
        return ctypes.addressof(held)


def _is_scalar(value: Any) -> bool:
    """Whether a value is one number: of Python or of numpy."""
    return isinstance(value, (bool, int, float)) or (hasattr(value, "dtype") and getattr(value, "shape", None) == ())


def _array_of(value: Any) -> Any:
    """What has a buffer; tensors on the CPU give an array of numpy that shares their memory."""
    if not hasattr(value, "__array_interface__") and hasattr(value, "numpy") and hasattr(value, "data_ptr"):
        return value.detach().numpy()
    return value


_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}


def _pack(kernel: Kernel, parameter: Parameter, index: int, value: Any) -> bytes:
    """The bytes of a number as a parameter has them."""
    where = f"parameter {index} of kernel '{kernel.name}'"
    if hasattr(value, "dtype"):
        if value.dtype.itemsize == parameter.bytes:
            return bytes(value.tobytes())
        value = value.item()
    if parameter.bytes not in _INTEGERS:
        raise BadInput(f"{where} has {parameter.bytes} bytes; a number has 1, 2, 4 or 8")
    if isinstance(value, float) and parameter.type[0] in "us":
        raise BadInput(f"{where} is an integer ({parameter.type}); {value} is none")
    if isinstance(value, float) or parameter.type in ("f16", "f32", "f64"):
        form = {2: "e", 4: "f", 8: "d"}.get(parameter.bytes)
        if not form:
            raise BadInput(f"{where} has {parameter.bytes} bytes, which no floating-point number has")
        try:
            return struct.pack("<" + form, value)
        except OverflowError:
            raise BadInput(f"{value} does not fit into {where}, which has {parameter.bytes} bytes") from None
    form = _INTEGERS[parameter.bytes]
    try:
        return struct.pack("<" + (form if value < 0 else form.upper()), int(value))
    except struct.error:
        raise BadInput(f"{value} does not fit into {where}, which has {parameter.bytes} bytes") from None


# ---- Analysis ----


@dataclasses.dataclass(frozen=True)
class Site(Result):
    """An instruction on shared memory, with what one block does there."""

    file: Optional[str]
    line: Optional[int]
    ptx_line: int
    instruction: str
    op: Optional[str]
    width_bytes: int
    is_reached: bool
    is_exact: bool
    formula: Optional[str]
    unknown: List[str]
    fault: Optional[str]
    accesses: int
    wavefronts: int
    most_wavefronts: int
    ideal: int
    conflicts: int
    most_conflicts: int
    estimated: bool
    explanation: Optional[str]
    worst: Optional[Access]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file and self.line else f"PTX line {self.ptx_line}"


@dataclasses.dataclass(frozen=True)
class Analysis(Result):
    """The shared accesses of a kernel that was not run."""

    kernel: str
    machine: str
    block: Tuple[int, int, int]
    sites: List[Site]
    notes: List[str]
    workload: Workload = dataclasses.field(repr=False, compare=False)
    readable_name: str = ""

    ROWS = "sites"
    COLUMNS = (("conflicts", "conflicts"), ("wavefronts", "wavefronts"), ("accesses", "accesses"), ("instruction", "instruction"),
               ("place", "place"), ("address", "formula"), ("why", "explanation"))
    HIDDEN = ("workload",)

    @property
    def conflicts(self) -> int:
        """Of one block, at least."""
        return sum(site.conflicts for site in self.sites)

    @property
    def wavefronts(self) -> int:
        return sum(site.wavefronts for site in self.sites)

    def rows(self) -> List[Site]:
        return sorted((site for site in self.sites if site.is_reached), key=lambda site: -site.conflicts)

    def by_line(self) -> Dict[str, Tuple[int, int, int]]:
        """Accesses, wavefronts and conflicts of each source line, most conflicts first."""
        sums: Dict[str, List[int]] = {}
        for site in self.rows():
            at = sums.setdefault(site.place, [0, 0, 0])
            for i, number in enumerate((site.accesses, site.wavefronts, site.conflicts)):
                at[i] += number
        ordered = sorted(sums.items(), key=lambda item: -item[1][2])
        return {place: (at[0], at[1], at[2]) for place, at in ordered}

    def summary(self) -> str:
        text = f"{self.readable_name or self.kernel}, a block of {'x'.join(map(str, self.block))} on {self.machine}: {self.conflicts} conflicts"
        return "\n".join([text] + [f"note: {note}" for note in self.notes])


def _site(at: "c.bf_kernel_site") -> Site:
    return Site(text_of(at.source_file) if at.source_file else None, at.source_line or None, at.line, text_of(at.instruction),
                text_of(library.bf_op_name(at.op)) if at.has_op else None, at.width_bytes, at.is_reached, at.is_exact,
                text_of(at.formula) if at.formula else None,
                [f"{text_of(at.unknown[i].what)}: {text_of(at.unknown[i].because)}" for i in range(at.unknowns)],
                text_of(at.fault) if at.fault else None, at.accesses, at.wavefronts, at.most_wavefronts, at.ideal,
                at.conflicts, at.most_conflicts, at.estimated, text_of(at.explanation) if at.explanation else None,
                Access.from_native(at.worst.contents) if at.worst else None)


def analyze(ptx: PtxLike, kernel: Optional[str] = None, *, block: Optional[Shape] = None, grid: Optional[Shape] = None,
            arguments: Sequence[Any] = (), block_index: Optional[Shape] = None, machine: MachineLike = "hopper") -> Analysis:
    """The shared accesses of a kernel from its PTX alone, and what they cost a block. arguments are values of the first
    parameters; None and buffers are unknown."""
    module = module_of(ptx)
    which = module.kernel(kernel)
    on = machine_of(machine)
    values = Arguments(which, [None if not _is_scalar(value) else value for value in arguments])
    given = options(c.bf_analyze_kernel_options, argument=values.array, arguments=values.count)
    given.block[:], given.grid[:] = _shape(block), _shape(grid)
    if block_index is not None:
        given.has_block_index = True
        given.block_index[:] = [*((block_index,) if isinstance(block_index, int) else block_index), 0, 0][:3]
    owned = create("bf_kernel_analysis_free", "bf_analyze_kernel", module.address, encode(which.name), on.address,
                   ctypes.byref(given))
    sites = [_site(at) for at in numbered(lambda index: library.bf_kernel_analysis_get(owned.address, index))]
    notes = [text_of(note) for note in numbered(lambda index: library.bf_kernel_analysis_note(owned.address, index))]
    work = Workload._take(create("bf_workload_free", "bf_kernel_analysis_workload", owned.address))
    return Analysis(which.name, on.name, _shape(block) if block else which.block or (0, 0, 0), sites, notes, work,
                    which.readable_name)


# ---- Launches ----


@dataclasses.dataclass(frozen=True)
class Line(Result):
    """What the shared accesses of a source line cost; file is None where line is one of the PTX."""

    file: Optional[str]
    line: int
    accesses: int
    wavefronts: int
    ideal: int
    conflicts: int
    worst_wavefronts: int
    estimated: bool
    uncounted: int
    worst: Optional[Access]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"PTX line {self.line}"


@dataclasses.dataclass(frozen=True)
class Profile(Result):
    """What a launch did to shared memory."""

    kernel: str
    machine: str
    hash: str
    accesses: int
    wavefronts: int
    ideal: int
    conflicts: int
    warp_instructions: int
    thread_instructions: int
    lines: List[Line]
    printed: str
    remarks: List[str]

    ROWS = "lines"
    COLUMNS = (("conflicts", "conflicts"), ("wavefronts", "wavefronts"), ("ideal", "ideal"), ("accesses", "accesses"),
               ("worst", "worst_wavefronts"), ("line", "place"))

    def summary(self) -> str:
        text = (f"{self.kernel} on {self.machine}, hash {self.hash}: {self.accesses} accesses, {self.wavefronts} wavefronts, "
                f"{self.conflicts} conflicts, {self.warp_instructions} warp instructions")
        return "\n".join([text] + [f"note: {remark}" for remark in self.remarks])


class Launch:
    """A launch for the library, and all that must live as long."""

    def __init__(self, kernel: Kernel, grid: Shape, block: Optional[Shape], arguments: Sequence[Any], shared_bytes: int,
                 hash_: Optional[Hash], check: Iterable[str], threads: int, as_written: bool,
                 progress: Optional[Callable[[int, int], Any]]) -> None:
        types: Any = dict(c.bf_launch._fields_)
        words = [check] if isinstance(check, str) else list(check)
        if any(word not in ("uninitialised", "races") for word in words):
            raise BadInput(f"check is {words}; it may have 'uninitialised' and 'races'")
        if len(arguments) != len(kernel.parameters):
            raise BadInput(f"{len(arguments)} arguments for kernel '{kernel.name}', which has {len(kernel.parameters)}: "
                           + ", ".join(f"{p.name} ({p.type}, {p.bytes} bytes)" for p in kernel.parameters))
        self.arguments = Arguments(kernel, arguments)
        self.remarks = Remarks()
        self.watch = Watch(types["progress"], progress)
        text: List[bytes] = []  # and not self, which would then keep itself and the caller's memory
        self.text = text
        self._print = types["print"](lambda _context, part, size: text.append(part[:size]))
        self._hash = hash_
        self.native = options(c.bf_launch, dynamic_shared_bytes=shared_bytes, argument=self.arguments.array,
                              arguments=self.arguments.count, hash=hash_ and hash_.address, as_written=as_written,
                              check_uninitialised="uninitialised" in words, check_races="races" in words, threads=threads,
                              print=self._print, progress=self.watch.callback, logger=self.remarks.logger)
        self.native.grid[:] = _shape(grid)
        self.native.block[:] = _shape(block if block is not None else kernel.block)

    @property
    def printed(self) -> str:
        return b"".join(self.text).decode(errors="replace")


def profile(ptx: PtxLike, kernel: Optional[str] = None, *, grid: Shape = 1, block: Optional[Shape] = None,
            arguments: Sequence[Any] = (), shared_bytes: int = 0, hash: HashLike = None, machine: MachineLike = "hopper",
            check: Iterable[str] = (), threads: int = 0, as_written: bool = False,
            progress: Optional[Callable[[int, int], Any]] = None) -> Profile:
    """Runs a kernel on the CPU, on the buffers given, and says what its shared accesses cost, by source line.
    shared_bytes: of dynamic shared memory; check: "uninitialised", "races"."""
    module = module_of(ptx)
    which = module.kernel(kernel)
    on = machine_of(machine)
    placed = hash_of(hash, on)
    launch = Launch(which, grid, block, arguments, shared_bytes, placed, check, threads, as_written, progress)
    out = ctypes.c_void_p()
    launch.watch.call("bf_profile_launch", module.address, encode(which.name), on.address, ctypes.byref(launch.native),
                      ctypes.byref(out))
    owned = Owned(out.value or 0, "bf_launch_profile_free")
    total = library.bf_launch_profile_totals(owned.address).contents
    lines = [Line(text_of(at.file) if at.file else None, at.line, at.accesses, at.wavefronts, at.ideal, at.conflicts,
                  at.worst_wavefronts, at.estimated, at.uncounted,
                  Access.from_native(at.worst) if at.worst_wavefronts else None)
             for at in numbered(lambda index: library.bf_launch_profile_get(owned.address, index))]
    return Profile(which.name, on.name, placed.text if placed else "none", total.accesses, total.wavefronts, total.ideal,
                   total.conflicts, total.warp_instructions, total.thread_instructions, lines, launch.printed,
                   launch.remarks.said)


# ---- Simulation ----


@dataclasses.dataclass(frozen=True)
class Stall(Result):
    """Turns of schedulers without an instruction."""

    reason: str
    turns: int


@dataclasses.dataclass(frozen=True)
class SimulatedLine(Result):
    """What the shared accesses of a line cost in time."""

    file: Optional[str]
    line: int
    accesses: int
    wavefronts: int
    conflicts: int
    waited_cycles: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"PTX line {self.line}"


@dataclasses.dataclass(frozen=True)
class Simulation(Result):
    """How long a launch takes on a GPU, and why."""

    kernel: str
    gpu: str
    hash: str
    cycles: int
    seconds: float
    instructions: int
    instructions_per_cycle: float
    blocks: int
    sms: int
    blocks_per_sm: int
    occupancy: float
    occupancy_limit: Optional[str]
    turns: int
    shared_accesses: int
    shared_wavefronts: int
    shared_conflicts: int
    global_accesses: int
    global_sectors: int
    dram_read_bytes: int
    dram_written_bytes: int
    stalls: List[Stall]
    lines: List[SimulatedLine]
    printed: str

    ROWS = "lines"
    COLUMNS = (("conflicts", "conflicts"), ("wavefronts", "wavefronts"), ("accesses", "accesses"),
               ("waited cycles", "waited_cycles"), ("line", "place"))

    def summary(self) -> str:
        worst = sorted((stall for stall in self.stalls if stall.turns), key=lambda stall: -stall.turns)[:3]
        waits = ", ".join(f"{stall.reason} {100 * stall.turns / self.turns:.1f}%" for stall in worst)
        return (f"{self.kernel} on {self.gpu}, hash {self.hash}: {self.cycles} cycles, {1e6 * self.seconds:.2f} us, "
                f"{self.instructions} instructions, occupancy {100 * self.occupancy:.1f}%\n"
                f"turns without an instruction: {waits or 'none'}")


def simulate(ptx: PtxLike, kernel: Optional[str] = None, *, grid: Shape = 1, block: Optional[Shape] = None,
             arguments: Sequence[Any] = (), shared_bytes: int = 0, hash: HashLike = None, gpu: str = "h200",
             set: Optional[Dict[str, Any]] = None, most_cycles: int = 0, check: Iterable[str] = (), threads: int = 0,
             progress: Optional[Callable[[int, int], Any]] = None) -> Simulation:
    """Runs a kernel in the order and time of a GPU. gpu: a name of gpus(), or a GPU file; set: parameters of it to change,
    as {"sms": 1, "scheduler": "gto"}."""
    module = module_of(ptx)
    which = module.kernel(kernel)
    placed = Hash(hash) if isinstance(hash, str) else hash
    launch = Launch(which, grid, block, arguments, shared_bytes, placed, check, threads, False, progress)
    changes = " ".join(f"{name}={value}" for name, value in (set or {}).items())
    given = options(c.bf_simulate_options, gpu=encode(gpu), set=encode(changes), most_cycles=most_cycles)
    out = ctypes.c_void_p()
    launch.watch.call("bf_simulate_launch", module.address, encode(which.name), ctypes.byref(launch.native),
                      ctypes.byref(given), ctypes.byref(out))
    owned = Owned(out.value or 0, "bf_simulation_free")
    total = library.bf_simulation_get_totals(owned.address).contents
    stalls = [Stall(text_of(at.reason), at.turns)
              for at in numbered(lambda index: library.bf_simulation_get_stall(owned.address, index))]
    lines = [SimulatedLine(text_of(at.file) if at.file else None, at.line, at.accesses, at.wavefronts, at.conflicts,
                           at.waited_cycles)
             for at in numbered(lambda index: library.bf_simulation_get_line(owned.address, index))]
    return Simulation(which.name, gpu, placed.text if placed else "none", total.cycles, total.seconds, total.instructions,
                      total.instructions_per_cycle, total.blocks, total.sms, total.blocks_per_sm, total.occupancy,
                      text_of(total.occupancy_limit) if total.occupancy_limit else None, total.turns, total.shared_accesses,
                      total.shared_wavefronts, total.shared_conflicts, total.global_accesses, total.global_sectors,
                      total.dram_read_bytes, total.dram_written_bytes, stalls, lines, launch.printed)


# ---- Rewriting ----


@dataclasses.dataclass(frozen=True)
class RewrittenKernel(Result):
    """What was done to a kernel, or why nothing."""

    name: str
    is_rewritten: bool
    hash: Optional[str]
    reason: Optional[str]
    accesses: int
    hashed: int
    added_instructions: int
    shared_bytes: int
    padded_shared_bytes: int
    share_left: Optional[float]
    readable_name: str = ""


@dataclasses.dataclass(frozen=True)
class Rewriting(Result):
    """A module whose shared accesses go through hashes."""

    ptx: str
    hashes: str
    is_changed: bool
    is_repeated: bool
    kernels: List[RewrittenKernel]

    ROWS = "kernels"
    COLUMNS = (("kernel", "readable_name"), ("hash", "hash"), ("hashed", "hashed"), ("accesses", "accesses"),
               ("added", "added_instructions"), ("time left", "share_left"), ("left alone because", "reason"))

    def summary(self) -> str:
        done = sum(kernel.is_rewritten for kernel in self.kernels)
        return f"{done} of {len(self.kernels)} kernels rewritten" + (", as it was before" if self.is_repeated else "")


def _rewriting(address: int, module: Module) -> Rewriting:
    kernels = [RewrittenKernel(text_of(at.name), at.is_rewritten, text_of(at.hash) if at.hash else None,
                               text_of(at.reason) if at.reason else None, at.accesses, at.hashed, at.added_instructions,
                               at.shared_bytes, at.padded_shared_bytes, at.share_left or None,
                               module.kernels[text_of(at.name)].readable_name)
               for at in numbered(lambda index: library.bf_rewriting_get(address, index))]
    return Rewriting(text_of(library.bf_rewriting_text(address)), text_of(library.bf_rewriting_hashes(address)),
                     library.bf_rewriting_is_changed(address), library.bf_rewriting_is_repeated(address), kernels)


def rewrite(ptx: PtxLike, hash: Optional[str] = "auto", *, hashes: Union[str, Dict[str, str], None] = None,
            kernel: Optional[str] = None, block: Optional[Shape] = None, padding_has_room: bool = False) -> Rewriting:
    """PTX that computes the same with its data elsewhere in shared memory. hash: of all kernels; "auto": for each kernel
    what is predicted to win, in blocks of that shape where it is given. hashes: of single kernels, as a dictionary or as
    lines KERNEL HASH. Kernels that stay as they are say why."""
    module = module_of(ptx)
    text = "".join(f"{name} {value}\n" for name, value in hashes.items()) if isinstance(hashes, dict) else hashes
    predict = hash == "auto" and hashes is None
    given = options(c.bf_rewrite_module_options, hash=None if hash == "auto" else encode(hash), hashes=encode(text),
                    kernel=encode(kernel), padding_has_room=padding_has_room, predict=predict)
    given.block[:] = _shape(block)
    owned = create("bf_rewriting_free", "bf_rewrite_module", module.address, ctypes.byref(given))
    return _rewriting(owned.address, module)


# ---- Tuning ----


@dataclasses.dataclass(frozen=True)
class TunedKernel(Result):
    """What the best hash of a kernel gains in the launches that were run."""

    name: str
    hash: Optional[str]
    reason: Optional[str]
    launches: int
    wavefronts_before: int
    wavefronts_after: int
    instructions_before: int
    instructions_after: int
    cycles_before: int
    cycles_after: int


@dataclasses.dataclass(frozen=True)
class Tuning(Result):
    """The best hash of each kernel, and the module with these."""

    kernels: List[TunedKernel]
    rewriting: Rewriting

    ROWS = "kernels"
    COLUMNS = (("kernel", "name"), ("hash", "hash"), ("wavefronts", "wavefronts_before"), ("after", "wavefronts_after"),
               ("instructions", "instructions_before"), ("after", "instructions_after"), ("cycles", "cycles_before"),
               ("after", "cycles_after"), ("left alone because", "reason"))


def tune(ptx: PtxLike, kernel: Optional[str] = None, *, grid: Shape = 1, block: Optional[Shape] = None,
         arguments: Sequence[Any] = (), shared_bytes: int = 0, gpu: Optional[str] = None, machine: MachineLike = "hopper",
         time_limit_seconds: float = 0, threads: int = 0) -> Tuning:
    """Looks for the best hash of a kernel by running a launch of it with several, on the CPU. gpu: whose simulated time
    decides; without it counts do. What kernel and result leave in memory is compared. Buffers stay as they are."""
    module = module_of(ptx)
    which = module.kernel(kernel)
    on: Machine = machine_of(machine)
    launch = Launch(which, grid, block, arguments, shared_bytes, None, (), 0, False, None)
    one = c.bf_tune_launch(encode(which.name), ctypes.pointer(launch.native))
    given = options(c.bf_tune_module_options, machine=on.address, gpu=encode(gpu), kernel=encode(which.name),
                    time_limit_seconds=time_limit_seconds, threads=threads)
    out = ctypes.c_void_p()
    call("bf_tune_module", module.address, ctypes.byref(one), 1, ctypes.byref(given), ctypes.byref(out))
    owned = Owned(out.value or 0, "bf_tuning_free")
    kernels = [TunedKernel(text_of(at.name), text_of(at.hash) if at.hash else None, text_of(at.reason) if at.reason else None,
                           at.launches, at.before.wavefronts, at.after.wavefronts, at.before.warp_instructions,
                           at.after.warp_instructions, at.before.cycles, at.after.cycles)
               for at in numbered(lambda index: library.bf_tuning_get(owned.address, index))]
    return Tuning(kernels, _rewriting(library.bf_tuning_rewriting(owned.address), module))
