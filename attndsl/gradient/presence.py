"""What of an expression may be absent: an element outside of its tensor, or a quotient by a number that may be 0.

Where anything that is read for a result is absent, the result is, and gives nothing back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attndsl.checking.text import expression_text
from attndsl.checking.typed import (
    Apply,
    Constant,
    Expr,
    Index,
    IndexValue,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    operands,
    walk,
)
from attndsl.gradient.algebra import float_operands
from attndsl.gradient.places import is_inside

Condition = tuple[str, str]
"""An index, and the extent that it is to be below; of a quotient the divisor, which is not to be 0. An axis stands for
all of its values."""


def conditions(*exprs: Expr) -> set[Condition]:
    """What has to hold for expressions to be there, but for what holds anyway."""
    return {(_of_all(index), extent) for expr in walk(*exprs) for index, extent in _own(expr)}


def is_there_with(expr: Expr, others: Iterable[Expr]) -> bool:
    """Whether an expression is there for all keys for which others are, all of its axes alike.

    What stands in a branch has to hold under the same condition.
    """
    known = {each for other in others for each in _under_guards(other, axes=True)}
    return all(
        any(condition == other and guards >= less for other, less in known)
        for condition, guards in _under_guards(expr, axes=False)
    )


def _under_guards(root: Expr, axes: bool) -> set[tuple[Condition, frozenset[str]]]:
    """What has to hold for an expression to be there, and what is true where that is looked at."""
    found: set[tuple[Condition, frozenset[str]]] = set()
    left: list[tuple[Expr, frozenset[str]]] = [(root, frozenset())]
    seen = {*left}
    while left:
        expr, guards = left.pop()
        found |= {((_of_all(index), extent), guards) for index, extent in _own(expr) if axes or _differs_by_key(index)}
        parts = operands(expr)
        inside = [(part, guards) for part in parts]
        match expr:
            case Apply(operator="and" | "or" | "iselect" | "fselect" | "bselect" as operator):
                text = expression_text(parts[0])
                true, false = guards | {text}, guards | {f"not {text}"}
                branches = {"and": (true,), "or": (false,)}.get(operator, (true, false))
                inside = [(parts[0], guards), *zip(parts[1:], branches, strict=True)]
            case Reduce():  # it leaves out what is absent
                inside = []
        left += [each for each in inside if each not in seen]
        seen |= {*inside}
    return found


def forgets_a_part(expr: Expr) -> bool:
    """Whether the adjoint of some part of an expression may be there where another part, and so the whole, is absent.

    A product's adjoints have its other factors; those of a sum's terms have nothing of each other.
    """
    parts = [*walk(expr, through=float_operands)]
    adds = any(isinstance(e, ReduceAxis) or (isinstance(e, Apply) and e.operator in ("fadd", "fsub")) for e in parts)
    return adds and bool(conditions(expr))


def rests_on_axis(expr: Expr, axis: Index) -> bool:
    """Whether some elements of an expression along an axis may be absent, and others not.

    What dims and numbers alone decide is taken to be there.
    """
    for index in (index for part in walk(expr) for index, _ in _own(part)):
        variables = {e.index for e in walk(index) if isinstance(e, IndexValue)}
        if axis in variables and (len(variables) > 1 or any(isinstance(e, ParamValue | Read) for e in walk(index))):
            return True
    return False


def _differs_by_key(index: Expr) -> bool:
    return any(isinstance(e, Read) or (isinstance(e, IndexValue) and e.index.role != "axis") for e in walk(index))


def _own(expr: Expr) -> Iterator[tuple[Expr, str]]:
    match expr:
        case Read(tensor=tensor, indices=indices):
            for index, extent in zip(indices, map(expression_text, tensor.extents), strict=True):
                if not is_inside(index, extent):
                    yield index, extent
        case Apply(operator="idiv" | "imod", arguments=(_, divisor)) if not isinstance(divisor, Constant):
            if any(isinstance(e, IndexValue | Read) for e in walk(divisor)):
                yield divisor, ""


def _of_all(index: Expr) -> str:
    """An index as text, in which an axis is its extent."""
    text = expression_text(index)
    for axis in {e.index for e in walk(index) if isinstance(e, IndexValue) and e.index.role == "axis"}:
        text = re.sub(rf"\b{axis.name}\b", f"[{expression_text(axis.extent)}]", text)
    return text
