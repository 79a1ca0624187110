"""Brackets that do not match, each with the one that it should close."""

from __future__ import annotations

import re

from attndsl import diagnostics as errors
from attndsl.diagnostics import Diagnostic
from attndsl.syntax.source import Span

_BRACKET = re.compile(r"#[^\n]*|[(\[{}\])]")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


def unmatched_bracket(text: str, max_depth: int) -> Diagnostic | None:
    """The first bracket that is out of place, or the nesting that is deeper than `max_depth`, if there is one."""
    open_: list[tuple[str, Span]] = []
    for match in _BRACKET.finditer(text):
        found, span = match.group(), Span(*match.span())
        if found in _CLOSERS:
            open_.append((found, span))
            if len(open_) > max_depth:
                return errors.limits.NestedTooDeeply(span, limit=max_depth)
        elif found[0] != "#":
            if not open_ or (open_[-1][0] == "{" and found != "}"):
                return errors.syntax.Unopened(span, found=found)
            opener, place = open_.pop()
            if _CLOSERS[opener] != found:
                wanted = _CLOSERS[opener]
                return errors.syntax.Mismatched(span, bracket=opener, opener=place, found=found, wanted=wanted)
    if open_:
        opener, place = open_[-1]
        end = len(text.rstrip())
        return errors.syntax.Unclosed(Span(end, end + 1), bracket=opener, opener=place)
    return None
