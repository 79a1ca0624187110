"""Going on after a syntax error: the statement that holds it is left out, and the rest is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Lark, UnexpectedToken

from attndsl.diagnostics import Diagnostic
from attndsl.syntax.brackets import unmatched_bracket
from attndsl.syntax.explain import STATEMENTS, explain
from attndsl.syntax.source import Source, Span

MAX_ROUNDS = 20
"""How often a text is read again."""

_STATEMENT = re.compile(
    rf"^[ \t]*(?:(?:{'|'.join(STATEMENTS)})\b|[A-Za-z_]\w*[ \t]*(?:\[[^\]\n]*\])?[ \t]*=(?!=)|\}})", re.MULTILINE
)


def syntax_errors(error: UnexpectedToken, source: Source, parser: Lark) -> Iterator[Diagnostic]:
    """What is wrong with a text that fails at `error`, in every statement that cannot be read."""
    for _ in range(MAX_ROUNDS):
        diagnostic = explain(error, source, parser)
        yield diagnostic
        statement = _statement_at(source.text, diagnostic.span.start)
        if statement is None:
            return
        source = Source(_blank(source.text, statement), source.name)
        try:
            parser.parse(source.text)
        except UnexpectedToken as next_error:
            error = next_error
        else:
            return


def _statement_at(text: str, offset: int) -> Span | None:
    """The statement around an offset, None where its ends cannot be told."""
    start, end = None, None
    for match in _STATEMENT.finditer(text):
        if match.start() > offset:
            end = match.start()
            break
        start = match.start()
    if start is None or end is None:
        return None
    part = text[start:end]
    # without its brackets the rest would make no sense
    return Span(start, end) if part.strip(" \t\n}") and unmatched_bracket(part, len(part)) is None else None


def _blank(text: str, span: Span) -> str:
    """The text with white space for a part of it, so that all other places stay."""
    return text[: span.start] + re.sub(r"[^\n]", " ", text[span.start : span.end]) + text[span.end :]
