"""Errors of form: what the grammar cannot read."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Lark, UnexpectedInput

from attndsl.diagnostics.base import Diagnostic
from attndsl.syntax.source import Source, Span


@dataclass(frozen=True)
class Unexpected(Diagnostic):
    found: str

    code = "E011"
    message = "unexpected {found}"


def explain(error: UnexpectedInput, source: Source, parser: Lark) -> Diagnostic:
    """What to tell of a text that the parser refused."""
    start = getattr(error, "pos_in_stream", None)
    start = len(source.text) if start is None or start < 0 else start
    return Unexpected(Span(start, start + 1), found=repr(source.text[start : start + 1]) if start < len(source.text) else "end of the spec")
