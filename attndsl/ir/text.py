"""Integer expressions of dims as text, as they stand in a tensor's extents."""

from __future__ import annotations

from attndsl.checking import lines, typed
from attndsl.checking.extents import Term
from attndsl.ir import spec
from attndsl.ir.extents import CALLS, INFIX, NEGATION, parse_extent
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Operation, SSAValue, arith
from attndsl.python_names import python_name


def integer_text(expr: typed.Expr, binding: int = 0) -> str:
    """An expression of dims and numbers as `parse_extent` reads it; `binding` is the precedence around it."""
    match expr:
        case typed.Constant():
            return str(expr.value)
        case typed.DimValue() | typed.ParamValue():
            return python_name(expr.name)
        case typed.Apply(operator="ineg"):
            return f"-{integer_text(expr.arguments[0], NEGATION)}"
        case typed.Apply() if expr.operator in INFIX:
            sign, strength, _ = INFIX[expr.operator]
            left, right = expr.arguments
            text = f"{integer_text(left, strength)} {sign} {integer_text(right, strength + 1)}"
            return f"({text})" if strength < binding else text
        case typed.Apply():
            name = CALLS.get(expr.operator, expr.operator)
            return f"{name}({', '.join(integer_text(a) for a in expr.arguments)})"
    raise AssertionError(f"{type(expr).__name__} is no expression of dims")


_VALUE_INFIX: dict[type[Operation], tuple[str, int]] = {
    arith.AddiOp: ("+", 1),
    arith.SubiOp: ("-", 1),
    arith.MuliOp: ("*", 2),
    arith.FloorDivSIOp: ("//", 2),
    spec.ModOp: ("%", 2),
}
_VALUE_CALLS: dict[type[Operation], str] = {arith.MinSIOp: "min", arith.MaxSIOp: "max"}

_LONGEST = 200
"""Characters of the longest text of a value: values share operands, and a text repeats them."""


def value_text(value: SSAValue, binding: int = 0) -> str | None:
    """An integer of the IR in that form.

    None where it is long, may leave 64 bits, or is more than arithmetic on dims and parameters.
    """
    known, op = constant(value), value.owner
    if known is not None:
        return str(known)
    if isinstance(op, spec.DimOp):
        return python_name(op.dim.data)
    if isinstance(op, spec.ParamOp):
        return python_name(op.param.data)
    if not isinstance(op, Operation) or type(op) not in {**_VALUE_INFIX, **_VALUE_CALLS}:
        return None
    called = _VALUE_CALLS.get(type(op))
    sign, strength = _VALUE_INFIX.get(type(op), (", ", 0))
    left = value_text(op.operands[0], strength)
    right = value_text(op.operands[1], strength + 1) if left is not None else None
    if left is None or right is None or len(left) + len(right) > _LONGEST or not Ranges().fits(value):
        return None
    if called is not None:
        return f"{called}({left}, {right})"
    text = f"{left} {sign} {right}"
    return f"({text})" if strength < binding else text


def known_limit(extent: SSAValue) -> SSAValue | None:
    """An extent, or what it is the smaller of, that is of dims and parameters alone; None where there is none."""
    if value_text(extent) is not None:
        return extent
    if isinstance(extent.owner, arith.MinSIOp):
        return next((found for v in extent.owner.operands if (found := known_limit(v)) is not None), None)
    return None


def line_of(text: str) -> Term:
    """An extent of `integer_text` as far as it is of one dim."""
    return lines.line_of(parse_extent(text))
