"""The shared library: where it is, calls of its functions, and objects that it owns."""
import _thread
import contextlib
import ctypes
import os
import pathlib
import threading
import weakref
from typing import Any, Callable, Iterator, List, Optional, Type, TypeVar

from . import _declarations as c
from .errors import BadInput, from_diagnostic

HERE = pathlib.Path(__file__).resolve().parent
SONAME = "libbankfold.so.0"


def build_folder() -> Optional[pathlib.Path]:
    """The build folder of the checkout that this file is in; None where it is installed."""
    root = HERE.parents[1]
    folder = pathlib.Path(os.environ.get("BANKFOLD_BUILD") or root / "build")
    return folder if (root / "include" / "bankfold.h").exists() and folder.is_dir() else None


def _place() -> str:
    """The file of the library, or its name where the loader has to find it."""
    if os.environ.get("BANKFOLD_LIBRARY"):
        return os.environ["BANKFOLD_LIBRARY"]
    folder = build_folder()
    for place in [HERE / "native" / SONAME] + ([folder / SONAME] if folder else []):
        if place.exists():
            return str(place)
    return SONAME


def _load_zstd() -> None:
    """The library needs zstd's: the system's or, where there is none, the one that the wheel brings."""
    own = HERE / "native" / "libzstd.so.1"
    for name in ("libzstd.so.1", str(own)):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return


def _load() -> ctypes.CDLL:
    _load_zstd()
    try:
        loaded = ctypes.CDLL(_place())
    except OSError as why:
        raise ImportError(f"bankfold's library cannot be loaded: {why}. BANKFOLD_LIBRARY can name it") from None
    for name, (result, taken) in c.FUNCTIONS.items():
        function = getattr(loaded, name, None)  # a library that is older lacks some
        if function is not None:
            function.restype, function.argtypes = result, taken
    return loaded


library = _load()
if library.bf_version_number() // 100 != c.BF_VERSION_NUMBER // 100:
    raise ImportError(f"bankfold's library is version {library.bf_version().decode()}, the package is for "
                      f"{c.BF_VERSION_MAJOR}.{c.BF_VERSION_MINOR}")


def call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail and takes a diagnostic last."""
    why = c.bf_diagnostic()
    why.caret = -1
    error = getattr(library, name)(*arguments, ctypes.byref(why))
    if error:
        raise from_diagnostic(error, why)


def encode(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)


def decode(text: Optional[bytes]) -> Optional[str]:
    return None if text is None else text.decode(errors="replace")


def text_of(text: Optional[bytes]) -> str:
    """The same where there is a text."""
    return (text or b"").decode(errors="replace")


class Owned:
    """An object of the library, freed with the Python object that holds it."""

    def __init__(self, address: int, free: str) -> None:
        self.address = address
        self._finalizer = weakref.finalize(self, getattr(library, free), address)


def create(free: str, name: str, *arguments: Any) -> Owned:
    """Calls a function whose last pointer before the diagnostic hands an object out."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    assert out.value is not None
    return Owned(out.value, free)


def handed_text(name: str, *arguments: Any) -> str:
    """Calls a function that hands text out in the same way."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    try:
        return ctypes.string_at(out.value or 0).decode(errors="replace")
    finally:
        library.bf_free(out)


Struct = TypeVar("Struct", bound=ctypes.Structure)


def options(kind: Type[Struct], **values: Any) -> Struct:
    """A struct of options: its size, and values; 0 is always the default."""
    made = kind()
    made.struct_bytes = ctypes.sizeof(kind)
    for name, value in values.items():
        if isinstance(value, (int, float)) and not value >= 0:
            raise BadInput(f"{name} is {value}, and must be at least 0")
        setattr(made, name, value)
    return made


def numbered(function: Callable[[int], Any]) -> Iterator[Any]:
    """What a function gives for 0, 1, 2, ... until NULL."""
    index = 0
    while True:
        item = function(index)
        if not item:
            return
        yield item.contents if hasattr(item, "contents") else item
        index += 1


def names(function: str) -> List[str]:
    return [item.decode() for item in numbered(getattr(library, function))]


class Remarks:
    """A logger for calls: collects what the library says."""

    def __init__(self) -> None:
        self.said: List[str] = []
        kind: Any = dict(c.bf_logger._fields_)["say"]
        self._say = kind(lambda _context, _level, message: self.said.append(text_of(message)))
        self.logger = c.bf_logger(self._say, None)


class Watch:
    """A callback of Python for calls that take long. What it raises stops the call, and so does Ctrl-C."""

    def __init__(self, kind: Any, function: Optional[Callable[..., Any]]) -> None:
        self.raised: Optional[BaseException] = None
        self._function = function
        self.callback = kind(self._step)

    def _step(self, _context: Any, *numbers: Any) -> bool:
        if self.raised:
            return False
        try:
            return self._function is None or self._function(*numbers) is not False
        except BaseException as why:  # pylint: disable=broad-except # it is raised again behind the call
            self.raised = why
            return False

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the library. Signals come to the main thread alone, which must not be in the library then:
        another thread makes the call."""
        failed: List[BaseException] = []
        claim, done = threading.Lock(), threading.Event()

        def run() -> None:
            if not claim.acquire(blocking=False):
                return
            try:
                call(name, *arguments)
            except BaseException as why:  # pylint: disable=broad-except
                failed.append(why)
            finally:
                done.set()

        if threading.current_thread() is not threading.main_thread():
            run()
        while not done.is_set():  # whatever interrupts this thread, what the library uses must live until it is done
            try:
                if not claim.locked():
                    _start(run)
                done.wait()
            except BaseException as why:  # pylint: disable=broad-except # Ctrl-C, mostly
                self.raised = why
        if self.raised:
            raise self.raised from None
        if failed:
            raise failed[0] from None


def _start(run: Callable[[], None]) -> None:
    """Runs a function in another thread or, where there can be none, in this one. Thread.join of Python 3.11 takes a thread
    that it was interrupted in waiting for to be done; so it is not used."""
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        run()
