"""Diagnostics as text: the message, the line, a caret under the place, notes and the way out."""

from __future__ import annotations

from attndsl.diagnostics.base import Diagnostic
from attndsl.syntax.source import Source


def render(diagnostic: Diagnostic, source: Source) -> str:
    """The diagnostic as a person reads it, without colours."""
    line, column = source.position(diagnostic.span.start)
    shown = source.line(line).replace("\t", " ")
    width = max(1, min(diagnostic.span.end - diagnostic.span.start, len(shown) - column + 1))
    gutter = " " * len(str(line))
    carets = " " * (column - 1) + "^" * width
    label = diagnostic.text(diagnostic.label)
    lines = [
        f"error[{diagnostic.code}]: {diagnostic.text(diagnostic.message)}",
        f"{gutter}--> {source.name}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}".rstrip(),
        f"{gutter} | {carets} {label}".rstrip(),
    ]
    for kind, template in (("note", diagnostic.note), ("fix", diagnostic.fix)):
        if text := diagnostic.text(template):
            lines.append(f"{gutter} = {kind}: {text}")
    return "\n".join(lines)
