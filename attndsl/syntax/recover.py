"""Going on after a syntax error: the statement that holds it is left out, and the rest is read."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from lark import Lark, UnexpectedToken

from attndsl.diagnostics import Diagnostic
from attndsl.syntax.brackets import unmatched_bracket
from attndsl.syntax.explain import STATEMENTS, explain
from attndsl.syntax.forms import foreign_form
from attndsl.syntax.place import Place
from attndsl.syntax.source import Source, Span

MAX_ROUNDS = 20
"""How often a text is read again."""

_GO_ON = r"(?!(?:attention|if|then|else|and|or|not|in|up|to)\b)"
_STATEMENT = re.compile(
    rf"^[ \t]*(?:(?:{'|'.join(STATEMENTS)})\b"
    r"|[A-Za-z_]\w*[ \t]*(?:\[[^\]\n]*\])?[ \t]*(?:\*\*|//|<<|>>|[-+*/%|&^:])?=(?!=)"
    rf"|{_GO_ON}[A-Za-z_]\w*[ \t]+{_GO_ON}[A-Za-z_]\w*"  # two words, which stand side by side in no expression
    r"|\})",
    re.MULTILINE,
)


def syntax_errors(
    error: UnexpectedToken, source: Source, parser: Lark, bracket: Diagnostic | None = None
) -> Iterator[Diagnostic]:
    """What is wrong with a text that fails at `error`, in every statement that cannot be read.

    A text with a `bracket` out of place has one error: that, unless a habit brought it there.
    """
    if bracket is not None:
        habit = foreign_form(Place(error, source, parser))
        yield habit if habit is not None and habit.span.start <= bracket.span.start else bracket
        return
    starts = _starts(source.text)
    for _ in range(MAX_ROUNDS):
        diagnostic = explain(error, source, parser)
        yield diagnostic
        statement = _statement_at(source.text, starts, diagnostic.span.start)
        if statement is None:
            return
        source = Source(_blank(source.text, statement), source.name)
        try:
            parser.parse(source.text)
        except UnexpectedToken as next_error:
            error = next_error
        else:
            return


def without(text: str, odd: Sequence[tuple[Diagnostic, Span | None]]) -> str | None:
    """A text without the spans that are given, and without the whole statement of every error that comes with none.

    None where the ends of such a statement cannot be told.
    """
    starts = _starts(text)
    for _, span in odd:
        text = text if span is None else _blank(text, span)
    rest = text
    for diagnostic, span in odd:
        statement = span or _statement_at(text, starts, diagnostic.span.start)
        if statement is None:
            return None
        rest = _blank(rest, statement)
    return rest


def _starts(text: str) -> list[int]:
    return [match.start() for match in _STATEMENT.finditer(text)]


def _statement_at(text: str, starts: Sequence[int], offset: int) -> Span | None:
    """The statement around an offset, None where its ends cannot be told."""
    following = bisect_right(starts, offset)
    if not 0 < following < len(starts):
        return None
    start, end = starts[following - 1], starts[following]
    part = text[start:end]
    # without its brackets the rest would make no sense
    return Span(start, end) if part.strip(" \t\n}") and unmatched_bracket(part, len(part)) is None else None


def _blank(text: str, span: Span) -> str:
    """The text with white space for a part of it, so that all other places stay."""
    return text[: span.start] + re.sub(r"[^\n]", " ", text[span.start : span.end]) + text[span.end :]
