"""Operators and strings of other languages, which no spec contains: each with what is written here."""

from __future__ import annotations

import re

from attndsl import diagnostics as errors
from attndsl.diagnostics import Diagnostic
from attndsl.syntax import operands
from attndsl.syntax.source import Span

_PLAIN = {
    "&&": "write `and`",
    "||": "write `or`",
    "===": "compare with `==`",
    "!==": "compare with `!=`",
    "<>": "compare with `!=`",
    "=<": "compare with `<=`",
    "=>": "compare with `>=`",
    ":=": "write `=`",
    "->": "write `=`; in a header leave it out: `output o : T[B]` is declared in the body",
    "|>": "call the function: `exp(x)`",
    "??": "every name has a value; `if condition then x else y` chooses one",
}
"""What stands for an operator whatever its operands are."""

_SUPERSCRIPTS = {"²": "2", "³": "3"}
_INFINITE = re.compile(r"(?P<sign>-?)\+?inf(inity)?", re.IGNORECASE)
_CALLED = re.compile(r"(\w+)\s*\(\s*$")


def foreign_operator(text: str, span: Span) -> Diagnostic:
    """The error of an operator that stands in no spec, spelt with the operands around it."""
    found = text[span.start : span.end]
    if found.startswith(".."):
        return _dots(text, span)
    left, right = operands.before(text, span.start), operands.after(text, span.end)
    return errors.characters.ForeignOperator(span, found=found, written=_written(text, span, found, left, right))


def foreign_string(text: str, span: Span) -> Diagnostic:
    """The error of a text in quotes: what is called with it, or the number that it spells, is written otherwise."""
    content = text[span.start : span.end].strip("\"'")
    called = _CALLED.search(text, max(0, span.start - 40), span.start)
    if infinite := _INFINITE.fullmatch(content):
        return errors.forms.NoStrings(span, written=f"write `{infinite['sign']}inf`, a number")
    if called and (written := errors.foreign.ours(called[1], ())):
        return errors.forms.NoStrings(span, written=written)
    return errors.forms.NoStrings(span, written="a comment begins with `#`")


def _written(text: str, span: Span, found: str, left: str, right: str) -> str:
    match found:
        case "!":
            return "write `not`"
        case "~":
            operand = right or "x"
            return f"of a bool, write `not {operand}`; of an int, `-{operand} - 1`"
        case "@" if not left:
            return "leave it out: a spec has no decorators"
        case "@":
            vectors = left.endswith("]") and right.endswith("]")
            return (
                f"write `{left} . {right}`" if vectors else "write `.`, which sums along the last axis of both vectors"
            )
        case "//":
            whole = f"`{left} / {right}`" if left and right else "`/`"
            return f"write {whole}: ints are divided rounding down; a comment begins with `#`"
        case "?":
            condition, then = operands.value_before(text, span.start), operands.value_after(text, span.end, ":")
            other = operands.value_after(text, text.find(then, span.end) + len(then)).removeprefix(":").strip()
            chosen = (condition, then, other) if condition and then and other else ("c", "x", "y")
            return "write `if {} then {} else {}`".format(*chosen)
        case "**" | "²" | "³":
            exponent = _SUPERSCRIPTS.get(found) or right
            if left and exponent:
                shift = f"; of ints, `1 << {exponent}`" if left == "2" else ""
                return f"write `{errors.foreign.power(left, exponent)}`{shift}"
            return "write `x * x`, `sqrt(x)`, `exp2(x)` or `exp(y * log(x))`"
    if found.endswith("=") and found not in _PLAIN:
        return _assignment(left, found[:-1], operands.value_after(text, span.end))
    return _PLAIN[found]


def _assignment(left: str, operator: str, right: str) -> str:
    """`x += 1`: what is defined anew, or written to once more."""
    if left.endswith("]"):
        return "an output is written by `=`, or added to by `+=`; a sum over keys is `sum(x)`"
    if left and right:
        return f"every name is defined once: `let total = {left} {operator} {right}`"
    return f"every name is defined once: `let total = a {operator} b`"


def _dots(text: str, span: Span) -> Diagnostic:
    """`0..N`, which is a range, and `k[..., j]`."""
    found = text[span.start : span.end]
    low, high = operands.before(text, span.start), operands.after(text, span.end)
    if low and high and found != "...":
        end = f"{high} + 1" if found.endswith("=") else high
        return errors.forms.NoRange(span, written=extent(low, end))
    return errors.forms.NoEllipsis(span)


def extent(low: str, high: str) -> str:
    """The extent of the indices from `low` up to and without `high`."""
    return high if low in ("", "0") else f"{high} - {low}"
