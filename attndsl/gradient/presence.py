"""What of an expression may be absent: an element outside of its tensor, or a quotient by a number that may be 0.

Where anything that is read for a result is absent, the result is, and gives nothing back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attndsl.checking.text import expression_text
from attndsl.checking.typed import Apply, Constant, Expr, Index, IndexValue, Read, ReduceAxis, walk
from attndsl.gradient.algebra import float_operands
from attndsl.gradient.places import is_inside

Condition = tuple[str, str]
"""An index, and the extent that it is to be below; of a quotient the divisor, which is not to be 0. An axis stands for
all of its values."""


def conditions(*exprs: Expr, axes: bool = True) -> set[Condition]:
    """What has to hold for expressions to be there, but for what holds anyway; without `axes`, what differs by key."""
    return {
        (_of_all(index), extent)
        for expr in walk(*exprs)
        for index, extent in _own(expr)
        if axes
        or any(isinstance(e, Read) or (isinstance(e, IndexValue) and e.index.role != "axis") for e in walk(index))
    }


def forgets_a_part(expr: Expr) -> bool:
    """Whether the adjoint of some part of an expression may be there where another part, and so the whole, is absent.

    A product's adjoints have its other factors; those of a sum's terms have nothing of each other.
    """
    parts = [*walk(expr, through=float_operands)]
    adds = any(isinstance(e, ReduceAxis) or (isinstance(e, Apply) and e.operator in ("fadd", "fsub")) for e in parts)
    return adds and bool(conditions(expr))


def rests_on_axis(expr: Expr, axis: Index) -> bool:
    """Whether some elements of an expression along an axis may be absent, and others not."""
    for index in (index for part in walk(expr) for index, _ in _own(part)):
        variables = {e.index for e in walk(index) if isinstance(e, IndexValue)}
        if axis in variables and (len(variables) > 1 or any(isinstance(e, Read) for e in walk(index))):
            return True
    return False


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
