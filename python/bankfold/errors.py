"""What the library refuses, as exceptions that say where."""
from typing import Optional, Type

from . import _declarations as c

__all__ = ["BankfoldError", "BadInput", "NoMemory", "FileError", "Unsupported", "KernelFault", "Stopped"]


class BankfoldError(Exception):
    """What went wrong, and where: file, line and column are None where they do not apply."""

    def __init__(self, message: str, file: Optional[str] = None, line: Optional[int] = None,
                 column: Optional[int] = None, excerpt: Optional[str] = None, caret: int = -1) -> None:
        super().__init__(message)
        self.message, self.file, self.line, self.column = message, file, line, column
        self.excerpt, self.caret = excerpt, caret

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = f"{place}: {self.message}" if place else self.message
        if self.excerpt and self.caret >= 0:
            text += f"\n  {self.excerpt}\n  {' ' * self.caret}^"
        return text


class BadInput(BankfoldError, ValueError):
    """What was given is wrong."""


class NoMemory(BankfoldError, MemoryError):
    """An allocation failed."""


class FileError(BankfoldError, OSError):
    """A file could not be read or written."""

    __str__ = BankfoldError.__str__


class Unsupported(BankfoldError, NotImplementedError):
    """Valid, but not handled."""


class KernelFault(BankfoldError, RuntimeError):
    """A kernel that was run did something wrong; the place is in its source."""


class Stopped(BankfoldError):
    """A callback said so."""


_KINDS = {
    c.BF_BAD_INPUT: BadInput,
    c.BF_NO_MEMORY: NoMemory,
    c.BF_IO: FileError,
    c.BF_UNSUPPORTED: Unsupported,
    c.BF_FAULT: KernelFault,
    c.BF_STOPPED: Stopped,
}


def from_diagnostic(error: int, why: "c.bf_diagnostic") -> BankfoldError:
    """The exception for an error of the library."""
    kind: Type[BankfoldError] = _KINDS.get(error, BankfoldError)
    return kind(why.message.decode(errors="replace"), why.file.decode(errors="replace") or None, why.line or None,
                why.column or None, why.excerpt.decode(errors="replace") or None, why.caret)
