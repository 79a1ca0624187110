"""Syntax errors taught by example: each text fails at the place that its lesson is about.

Where another text fails in the same state of the parser, or where the parser would go on with the same tokens, the
lesson applies: the state says what was read before, and so what is missing.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.diagnostics import Diagnostic, syntax
from attndsl.syntax.source import Span

Lesson = Callable[[Span, str], Diagnostic]
"""Makes an error of the place and the text of the token that does not fit."""


def _body(*lines: str) -> tuple[str, ...]:
    """The lines as the bodies of specs."""
    return tuple(f"attention a {{ {line} }}" for line in lines)


LESSONS: dict[Lesson, tuple[str, ...]] = {
    lambda span, _: syntax.MissingBrace(span): ("attention a dims B", "attention a (x: int) dims B"),
    lambda span, _: syntax.MissingEquals(span): _body(
        "let x 1", "let x[d in D] 1", "let x[:] 1", "schedule { tile_rows 1 }"
    ),
    lambda span, _: syntax.MissingColon(span): ("attention a (x int) { }", *_body("input q T[B]", "output o T[B]")),
    lambda span, _: syntax.MissingExtents(span): _body("input q : T dims B"),
    lambda span, _: syntax.MissingIn(span): _body(
        "each b B", "over j of N", "each b in B, i = M", "let x = sum(r R) r"
    ),
    lambda span, _: syntax.MissingThen(span): _body("let x = if a b else c"),
    lambda span, _: syntax.MissingElse(span): _body("let x = if a then b let y = c", "let x = if a then 1 each"),
    lambda span, _: syntax.MissingTo(span): _body("each i in n[b] up M"),
    lambda span, found: syntax.MissingName(span, found=found): (
        "attention { }",
        "attention a (: int) { }",
        "attention a (x: ) { }",
        *_body("dims , B", "types = f16", "input : T[B]", "input q : [B]", "let = 1", "schedule { = 1 }"),
        *_body("types T = ", "dims B, ", "each b in B, ", "let x[d in D,] = 1"),
    ),
    lambda span, found: syntax.MissingExpression(span, found=found): _body(
        "let x = ",
        "require ",
        "let x = a + ",
        "let x = a * ",
        "let x = -",
        "let x = a . ",
        "let x = ()",
        "let x = if then 1 else 2",
        "let x = if a then else 2",
        "let x = if a then 1 else ",
        "let x = not ",
        "let x = a and ",
        "let x = a or ",
        "let x = a | ",
        "let x = a ^ ",
        "let x = a & ",
        "let x = a << ",
        "let x = a < ",
        "let x = a[, b]",
        "let x = a[b,]",
        "let x = f(, b)",
        "let x = f(b,)",
        "let x = f(b = ) ",
        "let x = sum(r in ) r",
        "each b in ",
        "each b in B up to ",
        "o[b] = ",
        "score = ",
        "let x[d in ] = 1",
    ),
}
"""What is missing before the token that does not fit."""
