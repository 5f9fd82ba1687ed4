"""CuPy: CUDA source or PTX as a module whose kernels are analysed and, where that is predicted to win, hashed.

    module = bankfold.cupy.raw_module(source, block=(32, 32))
    module.get_function("transpose")((32, 32), (32, 32), (x, y))
    print(module.prepared)"""
import os
import tempfile
from typing import Any, Optional, Sequence, Union

from ._prepare import Prepared, prepare
from .kernels import Shape

__all__ = ["RawModule", "raw_module", "ptx_of"]


def _nvrtc() -> Any:
    """CuPy's interface of NVIDIA's runtime compiler."""
    try:
        from cupy.cuda import nvrtc  # pylint: disable=import-outside-toplevel
    except ImportError:
        from cupy_backends.cuda.libs import nvrtc  # pylint: disable=import-outside-toplevel
    return nvrtc


def _architecture() -> str:
    import cupy  # pylint: disable=import-outside-toplevel
    return f"compute_{cupy.cuda.Device().compute_capability}"


def ptx_of(source: str, options: Sequence[str] = (), name: str = "kernel.cu") -> str:
    """CUDA source as PTX, with the lines of the source in it."""
    nvrtc = _nvrtc()
    given = list(options)
    if not any(option.startswith(("-arch", "--gpu-architecture")) for option in given):
        given.append(f"--gpu-architecture={_architecture()}")
    if not any("lineinfo" in option for option in given):
        given.append("-lineinfo")
    program = nvrtc.createProgram(source, name, (), ())
    try:
        try:
            nvrtc.compileProgram(program, tuple(given))
        except Exception as why:
            raise ValueError(f"{name}: {nvrtc.getProgramLog(program)}") from why
        ptx = nvrtc.getPTX(program)
    finally:
        nvrtc.destroyProgram(program)
    return ptx.decode() if isinstance(ptx, bytes) else str(ptx)


class RawModule:
    """A cupy.RawModule, and what was done to its PTX."""

    def __init__(self, raw: Any, prepared: Prepared) -> None:
        self.raw, self.prepared = raw, prepared

    def get_function(self, name: str) -> Any:
        """A kernel, by its name in the PTX or in C++."""
        return self.raw.get_function(self.prepared.kernel_name(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw_module(code: Union[str, bytes], *, options: Sequence[str] = (), block: Optional[Shape] = None, optimize: bool = True,
               hash: str = "auto", name: str = "kernel.cu") -> RawModule:
    """CUDA source, or PTX, as a module. block: threads of a block, where all launches have the same."""
    import cupy  # pylint: disable=import-outside-toplevel
    text = code.decode() if isinstance(code, bytes) else code
    ptx = text if ".version" in text and ".target" in text else ptx_of(text, options, name)
    prepared = prepare(ptx, block=block, optimize=optimize, hash=hash)
    handle, path = tempfile.mkstemp(suffix=".ptx")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(prepared.ptx)
        raw = cupy.RawModule(path=path)
        for kernel in list(prepared.module.kernels)[:1]:
            raw.get_function(kernel)  # loads the file, which is gone behind this
    finally:
        os.unlink(path)
    return RawModule(raw, prepared)
