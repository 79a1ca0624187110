"""Specs from files and bytes. The errors are imported by who has one: a spec is often read, seldom in vain."""

from __future__ import annotations

from pathlib import Path

from attndsl import diagnostics as errors
from attndsl.diagnostics.base import Diagnostic, SpecError
from attndsl.syntax.gallery import names, path_of
from attndsl.syntax.source import MAX_BYTES, Source, Span


def read_source(path: str | Path) -> Source:
    """The spec in a file, or that of the gallery which is called so where there is no such file.

    No more is read than a spec may have. Raises SpecError where there is neither, where a file cannot be read, is too
    large or is not UTF-8.
    """
    try:
        content = _content(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        absent = isinstance(error, FileNotFoundError | IsADirectoryError)
        found = path_of(path) if absent and isinstance(path, str) else None
        if found is None:
            raise SpecError(Source("", ""), [_unreadable(str(path), error)]) from None
        content, path = _content(found), found
    return decode(content, str(path))


def _content(path: str | Path) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def decode(content: bytes, name: str) -> Source:
    """The spec in some bytes, a byte order mark left out; raises SpecError where they are too many or not UTF-8."""
    if len(content) > MAX_BYTES:
        raise SpecError(Source("", name), [errors.limits.SpecTooLong(Span(0, 0), limit=MAX_BYTES)])
    try:
        return Source(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        source = Source(before + "\N{REPLACEMENT CHARACTER}", name)
        span = Span(len(before), len(before) + 1)
        problem = errors.files.NotUtf8(span, byte=content[error.start], number=error.start + 1)
        raise SpecError(source, [problem]) from None


def _unreadable(name: str, error: OSError | ValueError) -> Diagnostic:
    match error:
        case FileNotFoundError() if name.isidentifier():
            return errors.files.NoSuchSpec(Span(0, 0), name=name, known=tuple(names()))
        case FileNotFoundError():
            return errors.files.NoSuchFile(Span(0, 0), name=name)
        case IsADirectoryError():
            return errors.files.IsDirectory(Span(0, 0), name=name)
        case OSError(strerror=str(reason)):
            return errors.files.CannotRead(Span(0, 0), name=name, reason=reason.lower())
        case _:
            return errors.files.CannotRead(Span(0, 0), name=name, reason=str(error).lower())
