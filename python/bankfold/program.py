"""The program bankfold, as the wheel brings it: `python -m bankfold ...`, and `bankfold ...` where scripts are installed."""
import os
import pathlib
import sys
from typing import List, NoReturn, Optional

from ._native import HERE, build_folder

__all__ = ["program_path", "ptxas_path", "main"]


def program_path() -> Optional[pathlib.Path]:
    """The program: the wheel's, that of the build folder, or the first in PATH."""
    folder = build_folder()
    places = [HERE / "native" / "bin" / "bankfold"] + ([folder / "bankfold"] if folder else [])
    places += [pathlib.Path(entry) / "bankfold" for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK) and _is_elf(place):
            return place
    return None


def _is_elf(path: pathlib.Path) -> bool:
    """Whether a file is a program, and not a script that only starts this module."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def ptxas_path() -> Optional[pathlib.Path]:
    """The link under which the program is a ptxas."""
    program = program_path()
    link = program.with_name("bankfold-ptxas") if program else None
    return link if link and link.exists() else None


def main(arguments: Optional[List[str]] = None) -> NoReturn:
    program = program_path()
    if program is None:
        sys.exit("bankfold: the program is not there; the wheel and the build folder have it")
    name = pathlib.Path(sys.argv[0]).name
    name = name if name in ("bankfold-nvcc", "bankfold-ptxas") else "bankfold"
    os.execv(program.with_name(name), [str(program.with_name(name))] + (sys.argv[1:] if arguments is None else arguments))
