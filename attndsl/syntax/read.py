"""Specs from files and bytes."""

from __future__ import annotations

from pathlib import Path

from attndsl.diagnostics import Diagnostic, SpecError, files, limits
from attndsl.syntax.source import MAX_BYTES, Source, Span


def read_source(path: str | Path) -> Source:
    """The spec in a file, of which no more is read than a spec may have.

    Raises SpecError where there is no such file, where it cannot be read, is too large or is not UTF-8.
    """
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _unreadable(files.NoSuchFile(Span(0, 0), name=name)) from None
    except IsADirectoryError:
        raise _unreadable(files.IsDirectory(Span(0, 0), name=name)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _unreadable(files.CannotRead(Span(0, 0), name=name, reason=reason.lower())) from None
    return decode(content, name)


def decode(content: bytes, name: str) -> Source:
    """The spec in some bytes, a byte order mark left out; raises SpecError where they are too many or not UTF-8."""
    if len(content) > MAX_BYTES:
        raise SpecError(Source("", name), [limits.SpecTooLong(Span(0, 0), limit=MAX_BYTES)])
    try:
        return Source(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        source = Source(before + "\N{REPLACEMENT CHARACTER}", name)
        span = Span(len(before), len(before) + 1)
        problem = files.NotUtf8(span, byte=content[error.start], number=error.start + 1)
        raise SpecError(source, [problem]) from None


def _unreadable(problem: Diagnostic) -> SpecError:
    return SpecError(Source("", ""), [problem])
