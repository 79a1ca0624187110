"""Errors of files: what cannot be read as text at all. They have no place in a source, but for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attndsl.diagnostics.base import Diagnostic
from attndsl.diagnostics.suggest import did_you_mean


@dataclass(frozen=True)
class FileError(Diagnostic):
    """An error of a file as a whole."""

    name: str

    placed: ClassVar[bool] = False

    def hint(self) -> str:
        """For who gives the text of a spec where its file is wanted."""
        return "the text of a spec is what `attndsl.compile` takes" if "{" in self.name else super().hint()


@dataclass(frozen=True)
class NoSuchFile(FileError):
    code = "E901"
    message = "there is no file `{name}`"


@dataclass(frozen=True)
class IsDirectory(FileError):
    code = "E902"
    message = "`{name}` is a directory, not a spec"


@dataclass(frozen=True)
class CannotRead(FileError):
    reason: str

    code = "E903"
    message = "`{name}` cannot be read: {reason}"


@dataclass(frozen=True)
class NotUtf8(Diagnostic):
    byte: int
    number: int

    code = "E904"
    message = "the spec is not UTF-8 text: byte {number} is 0x{byte:02x}"
    label = "cannot be read from here on"
    fix = "save it as UTF-8"


@dataclass(frozen=True)
class NoSuchSpec(FileError):
    known: tuple[str, ...]

    code = "E905"
    message = "there is no file `{name}`, and no spec of the gallery is called so"

    def hint(self) -> str:
        """The nearest spec, or where all are told."""
        return did_you_mean(self.name, self.known) or "`attndsl list` tells all"
