"""Triton: every kernel that is compiled is analysed and, where that is asked for, made faster.

    import bankfold.triton

    with bankfold.triton.watch() as seen:              # all kernels that are compiled inside
        kernel[grid](x, y, n)
    print(seen)

    @bankfold.triton.watch(optimize=True)              # this kernel
    @triton.jit
    def kernel(...): ...

With optimize=True, `bankfold ptxas` stands in the place of Triton's ptxas and compiles a kernel with its shared memory
hashed where that is predicted to win. Triton's cache knows nothing of that: what is compiled so gets keys of its own.
The kernels that PyTorch's torch.compile generates go the same way, and so do those that are compiled for a GPU that is not
there (triton.compile with a GPUTarget). docs/python.md has examples."""
import argparse
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import linecache
import os
import pathlib
import re
import runpy
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import Any, Callable, Dict, IO, Iterable, Iterator, List, Optional, Set, Tuple

from .errors import BadInput, BankfoldError
from .kernels import Module, Site, analyze, rewrite
from .memory import MachineLike
from .program import program_path
from .tables import Result, table

__all__ = ["watch", "KernelReport", "LineReport", "analyze_compiled"]


# ---- What is said of a kernel ----


@dataclasses.dataclass(frozen=True)
class LineReport(Result):
    """The shared accesses of a line of the kernel, in one block; inside: the line of a function that it calls, where they
    are."""

    place: str
    inside: Optional[str]
    accesses: int
    wavefronts: int
    conflicts: int
    source: str


@dataclasses.dataclass(frozen=True)
class KernelReport(Result):
    """A compiled kernel: its conflicts by line, and what was done about them."""

    name: str
    block: Tuple[int, int, int]
    shared_bytes: int
    wavefronts: int
    conflicts: int
    lines: List[LineReport]
    unknown: int
    optimization: Optional[str]
    error: Optional[str]

    ROWS = "lines"
    COLUMNS = (("conflicts", "conflicts"), ("wavefronts", "wavefronts"), ("accesses", "accesses"), ("line", "place"),
               ("source", "source"), ("inside", "inside"))

    def summary(self) -> str:
        if self.error:
            return f"{self.name}: not analysed: {self.error}"
        text = (f"{self.name}: {self.block[0]} threads, {self.shared_bytes} bytes of shared memory, {self.wavefronts} "
                f"wavefronts and {self.conflicts} conflicts in a block")
        if self.unknown:
            text += f"; {self.unknown} accesses could not be counted"
        return text + (f"\n{self.optimization}" if self.optimization else "")

    def rows(self) -> List[LineReport]:
        return [dataclasses.replace(line, place=_short(line.place), inside=_short(line.inside) if line.inside else None)
                for line in self.lines if line.conflicts]

    def __str__(self) -> str:
        rows = self.rows()
        return "\n".join([self.summary()] + ([table(self.COLUMNS, rows)] if rows else []))


def _short(place: str) -> str:
    """A place without the folder that packages are installed in, or that is current."""
    place = place.split("/site-packages/")[-1]
    return place[len(os.getcwd()) + 1:] if place.startswith(os.getcwd() + os.sep) else place


_FILE = re.compile(r'\s*\.file\s+\d+\s+"([^"]*)"(?:\s+"([^"]*)")?')
_CALLER = re.compile(r"@\[ ([^\s:]+):(\d+):\d+")


def _callers(ptx: str) -> List[Optional[str]]:
    """For each line of PTX, from 1, the line of the kernel whose call led there, as comments of .loc have it:
    // standard.py:309:12 @[ sort.py:14:29 ]. The last is that of the kernel itself. None: it is in the kernel."""
    lines = ptx.split("\n")
    files: Dict[str, str] = {}
    for found in filter(None, map(_FILE.match, lines)):
        path = os.path.join(*filter(None, found.groups()))
        files.setdefault(os.path.basename(path), path)
    callers: List[Optional[str]] = [None]
    caller = None
    for line in lines:
        if line.lstrip().startswith(".loc"):
            chain = _CALLER.findall(line.partition("//")[2])
            caller = f"{files.get(chain[-1][0], chain[-1][0])}:{chain[-1][1]}" if chain else None
        callers.append(caller)
    return callers


def _by_line(ptx: str, sites: Iterable[Site]) -> List[LineReport]:
    """What lines of the kernel cost, most conflicts first."""
    callers = _callers(ptx)
    sums: Dict[Tuple[str, Optional[str]], List[int]] = {}
    for site in sites:
        caller = callers[site.ptx_line] if site.ptx_line < len(callers) else None
        at = sums.setdefault((caller, site.place) if caller else (site.place, None), [0, 0, 0])
        for i, number in enumerate((site.accesses, site.wavefronts, site.conflicts)):
            at[i] += number
    ordered = sorted(sums.items(), key=lambda item: -item[1][2])
    return [LineReport(place, inside, at[0], at[1], at[2], _source(place)) for (place, inside), at in ordered]


def _source(place: str) -> str:
    """The text of a line of a file that is there."""
    file, _, line = place.rpartition(":")
    return linecache.getline(file, int(line)).strip() if line.isdigit() else ""


def analyze_compiled(compiled: Any, machine: MachineLike = "hopper", optimization: Optional[str] = None) -> KernelReport:
    """What Triton's compiled kernel does to shared memory. Nothing that goes wrong here is raised: the report says it."""
    metadata = getattr(compiled, "metadata", None)
    name = str(getattr(metadata, "name", None) or getattr(compiled, "name", "kernel"))
    shared = int(getattr(metadata, "shared", 0) or 0)
    threads = 32 * int(getattr(metadata, "num_warps", 4) or 4)
    try:
        ptx = compiled.asm["ptx"]
        module = Module(ptx, f"{name}.ptx")
        kernel = module.kernel(name if name in module.kernels else None)
        block = kernel.block or (threads, 1, 1)
        found = analyze(module, kernel.name, block=block, machine=machine)
    except (BankfoldError, KeyError, AttributeError, TypeError) as why:
        reason = "there is no PTX" if isinstance(why, (KeyError, AttributeError)) else str(why)
        return KernelReport(name, (threads, 1, 1), shared, 0, 0, [], 0, optimization, reason)
    lines = _by_line(ptx, found.rows())
    unknown = sum(site.is_reached and (not site.is_exact or site.fault is not None or site.op is None) for site in found.sites)
    return KernelReport(name, block, shared, found.wavefronts, found.conflicts, lines, unknown, optimization, None)


# ---- Settings ----


class watch:  # pylint: disable=invalid-name # used as a context manager and as a decorator
    """Analyses kernels that Triton compiles: all of them inside `with watch() as seen:`, one kernel or all inside a function
    as a decorator. seen.kernels has a report of each.

    optimize: compile through `bankfold ptxas`. hash: "auto", or the text of a hash; hashes: a file of lines KERNEL HASH.
    verbose: print each report to file when the kernel is compiled; least_conflicts: only those with as many in a block."""

    def __init__(self, optimize: bool = False, *, hash: str = "auto", hashes: Optional[str] = None, verbose: bool = True,
                 least_conflicts: int = 1, machine: MachineLike = "hopper", file: Optional[IO[str]] = None) -> None:
        self.optimize, self.hash, self.hashes = optimize, hash, hashes
        self.verbose, self.least_conflicts, self.machine, self.file = verbose, least_conflicts, machine, file
        self.kernels: List[KernelReport] = []
        self._seen: Set[Tuple[str, str]] = set()
        self._tools: Optional[_Tools] = None
        self._caches: List[Tuple[Any, str, Any]] = []
        self._undo: List[List[Callable[[], None]]] = []  # of each time that it was entered
        if optimize:
            self._tools = _Tools(self)

    # As a context manager.

    def __enter__(self) -> "watch":
        _install()
        self._undo.append(_prepare_torch())
        _active.append(self)
        return self

    def __exit__(self, *why: Any) -> None:
        _active.remove(self)
        for owner, name, value in reversed(self._caches):
            setattr(owner, name, value)
        self._caches.clear()
        for undo in reversed(self._undo.pop()):
            undo()

    # As a decorator.

    def __call__(self, target: Any) -> Any:
        kernel = _jit_function(target)
        if kernel is not None:
            _install()
            setattr(kernel, _OWN, self)
            _forget(kernel, self, for_good=True)
            return target

        @functools.wraps(target)
        def inside(*arguments: Any, **named: Any) -> Any:
            with self:
                return target(*arguments, **named)

        return inside

    # What was seen.

    def report(self, compiled: Any, optimization: Optional[str] = None) -> None:
        """Adds the report of a compiled kernel, and prints it; the same kernel is reported once."""
        report = analyze_compiled(compiled, self.machine, optimization)
        key = (report.name, str(report))
        if key in self._seen:
            return
        self._seen.add(key)
        self.kernels.append(report)
        if self.verbose and (report.conflicts >= self.least_conflicts or report.error):
            print(f"bankfold: {report}", file=self.file or sys.stderr, flush=True)

    def __str__(self) -> str:
        return "\n".join(str(report) for report in self.kernels) or "no kernel was compiled"

    def to_dict(self) -> Dict[str, Any]:
        return {"kernels": [report.to_dict() for report in self.kernels]}


# ---- The ptxas in the place of Triton's ----


class _Tools:
    """Scripts that call `bankfold ptxas` with settings; Triton is told their paths while it compiles."""

    VARIABLES = {"TRITON_PTXAS_PATH": "ptxas", "TRITON_PTXAS_BLACKWELL_PATH": "ptxas-blackwell"}

    def __init__(self, settings: "watch") -> None:
        program = program_path()
        if program is None:
            raise BankfoldError("optimize=True needs the program bankfold, which is neither in the package nor in PATH")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bankfold-triton-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.log = self.folder / "log"
        self.hash, self.hashes = settings.hash, settings.hashes
        self.settings = ["--hash-file", os.path.abspath(settings.hashes)] if settings.hashes else ["--hash", settings.hash]
        self.key = self._digest(program, settings.hashes)
        self.path: Dict[str, str] = {}
        for variable, name in self.VARIABLES.items():
            real = _real_ptxas(name, variable)
            if real:
                self.path[variable] = self._write(name, program, real)
        if not self.path:
            raise BankfoldError("optimize=True needs the ptxas of Triton, which was not found")
        self._try()

    def _try(self) -> None:
        """Refuses hashes that the program refuses: better here than when a kernel is compiled."""
        tried = subprocess.run([next(iter(self.path.values())), "--version"], capture_output=True, text=True, check=False)
        if tried.returncode:
            raise BadInput(re.sub(r"^bankfold: (error: )?", "", tried.stderr.strip()) or "Triton's ptxas does not run")

    def _digest(self, program: pathlib.Path, hashes: Optional[str]) -> str:
        """What the code depends on besides Triton's own: the program, and the hashes."""
        status = program.stat()
        text = f"{status.st_size} {status.st_mtime_ns} {self.settings}"
        if hashes:
            text += pathlib.Path(hashes).read_text(encoding="utf-8")
        return "bankfold-" + hashlib.sha256(text.encode()).hexdigest()[:16]

    def _write(self, name: str, program: pathlib.Path, real: str) -> str:
        path = self.folder / name
        command = [str(program), "ptxas", *self.settings, "--log", str(self.log), "--"]
        path.write_text("#!/bin/sh\n"
                        f"BANKFOLD_PTXAS={shlex.quote(real)} exec {' '.join(map(shlex.quote, command))} \"$@\"\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Lets Triton find the scripts."""
        before = {variable: os.environ.get(variable) for variable in self.path}
        knobs = _knobs()
        held = {name: knobs.__dict__[name] for name in ("ptxas", "ptxas_blackwell") if name in getattr(knobs, "__dict__", {})}
        os.environ.update(self.path)
        for name in held:
            setattr(knobs, name, self.path.get(f"TRITON_{name.upper()}_PATH", held[name]))
        _forget_tools()
        try:
            yield
        finally:
            for variable, value in before.items():
                if value is None:
                    os.environ.pop(variable, None)
                else:
                    os.environ[variable] = value
            for name, value in held.items():
                setattr(knobs, name, value)
            _forget_tools()

    def describe(self, compiled: Any) -> str:
        """What was done to a kernel: now, or when it was compiled before."""
        name = str(getattr(getattr(compiled, "metadata", None), "name", "kernel"))
        return self._said_of(name) or self._cached(compiled)

    def _cached(self, compiled: Any) -> str:
        """The same of a kernel that comes from Triton's cache."""
        text = "from Triton's cache, where it was compiled with these settings"
        with contextlib.suppress(BankfoldError, KeyError, AttributeError, TypeError):
            threads = 32 * int(compiled.metadata.num_warps)
            kernel = rewrite(compiled.asm["ptx"], self.hash, block=threads if self.hash == "auto" else None).kernels[0]
            if self.hashes is None and kernel.is_rewritten:
                text += f": {kernel.hash}"
        return text

    def _said_of(self, kernel: str) -> str:
        """What the log says of a kernel, last."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        found = [line for line in lines if f" {kernel}: " in line or "compiled as it is" in line]
        self.log.unlink(missing_ok=True)  # what comes behind is of other compilations
        return re.sub(r"^bankfold\[\d+\]:\s*", "", found[-1]) if found else ""


def _knobs() -> Any:
    """Triton's settings of NVIDIA's tools; None in versions that have none."""
    return getattr(getattr(_triton(), "knobs", None), "nvidia", None)


def _real_ptxas(name: str, variable: str) -> Optional[str]:
    """The ptxas that Triton would use."""
    tool = getattr(_knobs(), name.replace("-", "_"), None) if _has_knob(name) else None
    if tool is not None:
        return str(getattr(tool, "path", tool))
    if os.environ.get(variable):
        return os.environ[variable]
    triton = _triton()
    place = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    return str(place) if place.exists() else None


def _has_knob(name: str) -> bool:
    """Whether Triton knows such a tool, and has it."""
    try:
        return getattr(_knobs(), name.replace("-", "_"), None) is not None
    except RuntimeError:  # it knows the tool, and cannot find it
        return False


def _forget_tools() -> None:
    """Triton before 3.3 keeps the paths of tools that it has found."""
    module = sys.modules.get("triton.backends.nvidia.compiler")
    clear = getattr(getattr(module, "_path_to_binary", None), "cache_clear", None)
    if clear:
        clear()


# ---- Triton's compiler ----

_active: List[watch] = []  # contexts, the innermost last
_OWN = "_bankfold_watch"  # the attribute of a kernel that has a decorator
_compiling: List[_Tools] = []  # whose ptxas is in place now
_lock = threading.RLock()  # variables of the environment belong to the whole process: one compiles at a time


def _triton() -> Any:
    import triton  # pylint: disable=import-outside-toplevel,import-self
    return triton


def _jit_function(target: Any) -> Any:
    """The kernel inside what @triton.autotune and @triton.heuristics make; None: target is none."""
    kind = getattr(_triton(), "JITFunction", None) or getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    while target is not None and kind is not None and not isinstance(target, kind):
        target = getattr(target, "fn", None)
    return target if kind is not None else None


def _settings_for(source: Any) -> List[watch]:
    """Who wants to know of a compilation: the kernel's own decorator, and the innermost context."""
    own: Optional[watch] = getattr(getattr(source, "fn", None), _OWN, None)
    return ([own] if own else []) + [settings for settings in _active[-1:] if settings is not own]


def _compile(original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """triton.compile with everything around it."""
    told = _settings_for(arguments[0] if arguments else named.get("src"))
    tools = next((settings._tools for settings in told if settings._tools), None)
    with _lock:
        if tools is None or _compiling:
            compiled = original(*arguments, **named)
        else:
            with tools.in_place():
                _compiling.append(tools)
                try:
                    compiled = original(*arguments, **named)
                finally:
                    _compiling.pop()
    optimization = tools.describe(compiled) if tools else None
    for settings in told:
        settings.report(compiled, optimization)
    return compiled


def _hash(original: Callable[..., Any], backend: Any) -> Any:
    """A part of the key of Triton's cache, which must tell our code from Triton's own."""
    own = original(backend)
    return f"{own}-{_compiling[-1].key}" if _compiling else own


def _run(original: Callable[..., Any], kernel: Any, *arguments: Any, **named: Any) -> Any:
    """A launch in a context: kernels that were compiled outside are compiled again."""
    if _active and not hasattr(kernel, _OWN):
        _forget(kernel, _active[-1])
    return original(kernel, *arguments, **named)


def _forget(kernel: Any, settings: watch, for_good: bool = False) -> None:
    """Gives a kernel empty caches, which are exchanged for its own when the context ends."""
    if any(owner is kernel for owner, _, _ in settings._caches):
        return
    for name in ("device_caches", "cache"):
        own = kernel.__dict__.get(name)
        if own is None:
            continue
        if not for_good:
            settings._caches.append((kernel, name, own))
        setattr(kernel, name, type(own)(own.default_factory) if hasattr(own, "default_factory") else type(own)())
    if "compile" in kernel.__dict__:  # bound before there was ours
        kernel.__dict__["compile"] = _triton().compiler.compile


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Puts a function around another, once."""
    original = getattr(owner, name, None)
    if original is None or getattr(original, "_bankfold", False):
        return

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        return around(original, *arguments, **named)

    wrapped._bankfold = True  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)


def _backend_class() -> Any:
    """The compiler of Triton's NVIDIA backend."""
    with contextlib.suppress(ImportError):
        import triton.backends.nvidia.compiler as compiler  # pylint: disable=import-outside-toplevel
        return getattr(compiler, "CUDABackend", None)
    return None


def _install() -> None:
    """Stands between Triton and its compiler; does nothing as long as nobody watches."""
    with _lock:
        triton = _triton()
        inner = getattr(triton.compiler, "compiler", triton.compiler)
        compile_ = inner.compile
        if not getattr(compile_, "_bankfold", False):
            _wrap(inner, "compile", _compile)
            for owner in (triton.compiler, triton):
                if getattr(owner, "compile", None) is compile_:
                    owner.compile = inner.compile
        backend = _backend_class()
        if backend is not None:
            _wrap(backend, "hash", _hash)
        _wrap(triton.runtime.jit.JITFunction, "run", _run)
        with contextlib.suppress(AttributeError):
            _wrap(triton.runtime.autotuner.Autotuner, "run", _run)


# ---- PyTorch ----


_TORCH = [("torch._inductor.config", "compile_threads", 1), ("torch._inductor.config", "fx_graph_cache", False),
          ("torch._inductor.config", "fx_graph_remote_cache", False), ("torch._inductor.config", "autotune_local_cache", False),
          ("torch._functorch.config", "enable_autograd_cache", False)]


def _prepare_torch() -> List[Callable[[], None]]:
    """PyTorch's compiler must compile in this process, and not take code from its own caches. Returns what undoes it."""
    undo: List[Callable[[], None]] = []
    if "torch" not in sys.modules:
        return undo
    for module, name, value in _TORCH:
        with contextlib.suppress(ImportError, AttributeError):  # versions differ
            config = importlib.import_module(module)
            before = getattr(config, name)
            setattr(config, name, value)
            undo.append(functools.partial(setattr, config, name, before))
    _forget_torch()
    undo.append(_forget_torch)
    return undo


def _forget_torch() -> None:
    """Kernels that PyTorch keeps in memory, by their source."""
    module = sys.modules.get("torch._inductor.async_compile")
    clear = getattr(getattr(module, "CompiledTritonKernels", None), "cache_clear", None)
    if clear:
        clear()


# ---- Whole programs ----


def main(given: Optional[List[str]] = None) -> None:
    """python -m bankfold.triton [OPTION...] SCRIPT [ARGUMENT...]"""
    parser = argparse.ArgumentParser(prog="python -m bankfold.triton", description="Runs a Python program, and says where the "
                                     "kernels that Triton compiles in it have bank conflicts.")
    parser.add_argument("--optimize", action="store_true", help="compile kernels through bankfold ptxas")
    parser.add_argument("--hash", default="auto", help="with --optimize: the hash of all kernels (default: auto)")
    parser.add_argument("--hashes", metavar="FILE", help="with --optimize: a file of lines KERNEL HASH")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    options = parser.parse_args(given)
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")  # whose settings hold where it is there before
    try:
        context = watch(options.optimize, hash=options.hash, hashes=options.hashes)
    except (BankfoldError, OSError) as why:
        parser.error(str(why))
    sys.argv = [options.script, *options.arguments]
    if not options.module:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    with context:
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    from bankfold.triton import main as run  # not this copy of the module: programs import the other

    run()
