from . import autotuner, jit
from .jit import JITFunction
