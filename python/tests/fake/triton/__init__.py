"""A stand-in for Triton 3.6 as far as bankfold.triton touches it: the same names in the same places, and the same order of
events in a compilation. Kernels are PTX: @triton.jit takes a function that returns it."""
from . import backends, compiler, knobs, runtime
from .compiler import compile  # pylint: disable=redefined-builtin
from .runtime import JITFunction
from .runtime.autotuner import autotune
from .runtime.jit import jit

__version__ = "3.6.0"
__all__ = ["JITFunction", "autotune", "backends", "compile", "compiler", "jit", "knobs", "runtime"]
