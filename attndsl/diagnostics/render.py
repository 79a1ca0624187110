"""Diagnostics as text: the message, the line, a caret under the place, notes and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.diagnostics.base import MAX_ERRORS, Diagnostic, Label
from attndsl.printable import in_place, printable
from attndsl.syntax.source import Source

MAX_SHOWN = 20
"""So many errors of one spec are shown; the first ones tell enough."""

MAX_WIDTH = 120
"""A longer line of the spec is shown in part."""

_RED, _BLUE, _BOLD, _PLAIN = "\033[1;31m", "\033[1;34m", "\033[1m", "\033[0m"


def render_all(diagnostics: Sequence[Diagnostic], source: Source, colour: bool = False) -> str:
    """All diagnostics of a spec, the first MAX_SHOWN in full."""
    parts = [render(diagnostic, source, colour) for diagnostic in diagnostics[:MAX_SHOWN]]
    if len(diagnostics) > MAX_SHOWN:
        least = "at least " if len(diagnostics) >= MAX_ERRORS else ""
        parts.append(f"… and {least}{len(diagnostics) - MAX_SHOWN} more errors")
    return "\n\n".join(parts)


def render(diagnostic: Diagnostic, source: Source, colour: bool = False) -> str:
    """The diagnostic as a person reads it; `colour` adds a terminal's colours."""
    paint = _paint if colour else _leave
    head = paint(_RED, f"error[{diagnostic.code}]") + paint(_BOLD, f": {diagnostic.text(diagnostic.message)}")
    if not diagnostic.placed:
        named = [f"{paint(_BLUE, '-->')} {printable(source.name)}"] if source.name else []
        fix = [f" {paint(_BLUE, '=')} fix: {hint}"] if (hint := diagnostic.hint()) else []
        return "\n".join([head, *named, *fix])
    main = Label(diagnostic.span, diagnostic.text(diagnostic.label))
    line, column = source.position(main.span.start)
    labels = sorted(((*source.position(label.span.start), label) for label in (main, *diagnostic.others())), key=_place)
    gutter = " " * len(str(max(number for number, _, _ in labels)))
    bar = paint(_BLUE, "|")
    lines = [
        head,
        f"{gutter}{paint(_BLUE, '-->')} {printable(source.name)}:{line}:{column}",
        f"{gutter} {bar}",
    ]
    shown = 0
    for number, at, label in labels:
        text, start = _window(source.line(number), at - 1)
        if number != shown:
            if shown and number > shown + 1:
                lines.append(f"{gutter}{paint(_BLUE, '...')}")
            lines.append(f"{paint(_BLUE, str(number).rjust(len(gutter)))} {bar} {text}".rstrip())
            shown = number
        width = max(1, min(label.span.end - label.span.start, len(text) - start))
        mark = paint(_RED, "^" * width) if label is main else paint(_BLUE, "-" * width)
        lines.append(f"{gutter} {bar} {' ' * start}{mark} {label.text}".rstrip())
    for kind, text in (("note", diagnostic.text(diagnostic.note)), ("fix", diagnostic.hint())):
        if text:
            lines.append(f"{gutter} {paint(_BLUE, '=')} {kind}: {text}")
    return "\n".join(lines)


def _place(item: tuple[int, int, Label]) -> tuple[int, int]:
    return item[:2]


def _window(line: str, start: int) -> tuple[str, int]:
    """The part of a line that holds an offset, free of what a terminal would act on, and the offset in that part."""
    first = 0 if len(line) <= MAX_WIDTH else max(0, start - MAX_WIDTH // 2)
    part = line[first : first + MAX_WIDTH]
    before, after = ("…" if first else ""), ("…" if first + MAX_WIDTH < len(line) else "")
    return before + in_place(part) + after, start - first + len(before)


def _paint(code: str, text: str) -> str:
    return f"{code}{text}{_PLAIN}"


def _leave(_: str, text: str) -> str:
    return text
