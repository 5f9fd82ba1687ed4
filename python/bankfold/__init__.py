"""Bankfold finds, explains and removes bank conflicts in GPU shared memory.

    import bankfold

    print(bankfold.check("ld 4 ffffffff stride:32"))
    print(bankfold.solve("ld 4 ffffffff stride:32"))

All work is done by the library that bankfold.h describes; docs/python.md has the whole story."""
from . import cute
from ._native import library as _library
from .errors import BadInput, BankfoldError, FileError, KernelFault, NoMemory, Stopped, Unsupported
from .kernels import (Analysis, Image, Kernel, Module, Parameter, Profile, Rewriting, Simulation, Tuning, analyze, gpus,
                      images, profile, rewrite, simulate, tune)
from .layouts import LayoutAccess, LayoutChoice, Layouts, layouts
from .memory import Access, BankMap, Check, Hash, Machine, Workload, check, layout, machines, read_trace
from .pictures import Pattern, Patterns, Picture, classify, draw
from .program import program_path, ptxas_path
from .search import Arrays, ArraySolution, Joint, Ladder, Solution, emit, emit_forms, ladder, solve, solve_arrays, solve_joint

__version__: str = _library.bf_version().decode()

__all__ = ["Access", "Analysis", "ArraySolution", "Arrays", "BadInput", "BankMap", "BankfoldError", "Check", "FileError", "Hash", "Image", "Kernel",
           "Joint", "KernelFault", "Ladder", "LayoutAccess", "LayoutChoice", "Layouts", "Machine", "Module", "NoMemory", "Parameter", "Pattern", "Patterns", "Picture", "Profile",
           "Rewriting", "Simulation", "Solution", "Stopped", "Tuning", "Unsupported", "Workload", "analyze",
           "check", "classify", "cute", "draw", "emit", "emit_forms", "gpus", "images", "ladder", "layout", "layouts", "machines",
           "profile", "program_path", "ptxas_path", "read_trace", "rewrite", "simulate", "solve", "solve_arrays", "solve_joint", "tune"]
