"""Integer expressions of dims as text, as they stand in a tensor's extents."""

from __future__ import annotations

import ast

from attndsl.checking import typed
from attndsl.checking.extents import Line, Term, combine
from attndsl.ir import spec
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Operation, SSAValue, arith
from attndsl.python_names import python_name

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.FloorDiv: "idiv",
    ast.USub: "ineg",
}

_INFIX = {"iadd": ("+", 1), "isub": ("-", 1), "imul": ("*", 2), "idiv": ("//", 2), "imod": ("%", 2)}


def integer_text(expr: typed.Expr, binding: int = 0) -> str:
    """An expression of dims and numbers as Python reads it; `binding` is the precedence around it."""
    match expr:
        case typed.Constant():
            return str(expr.value)
        case typed.DimValue() | typed.ParamValue():
            return python_name(expr.name)
        case typed.Apply(operator="ineg"):
            return f"-{integer_text(expr.arguments[0], 3)}"
        case typed.Apply() if expr.operator in _INFIX:
            sign, strength = _INFIX[expr.operator]
            left, right = expr.arguments
            text = f"{integer_text(left, strength)} {sign} {integer_text(right, strength + 1)}"
            return f"({text})" if strength < binding else text
        case typed.Apply():
            name = {"imin": "min", "imax": "max"}[expr.operator]
            return f"{name}({', '.join(integer_text(a) for a in expr.arguments)})"
    raise AssertionError(f"{type(expr).__name__} is no integer expression of dims")


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
    if not Ranges().fits(value):
        return None
    called = _VALUE_CALLS.get(type(op))
    sign, strength = _VALUE_INFIX.get(type(op), (", ", 0))
    left = value_text(op.operands[0], strength)
    right = value_text(op.operands[1], strength + 1) if left is not None else None
    if left is None or right is None or len(left) + len(right) > _LONGEST:
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
    return _term(ast.parse(text, mode="eval").body)


def _term(node: ast.expr) -> Term:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return Line(name)
        case ast.BinOp(left=left, op=operator, right=right):
            return combine(_OPERATORS.get(type(operator), ""), (_term(left), _term(right)))
        case ast.UnaryOp(op=operator, operand=operand):
            return combine(_OPERATORS.get(type(operator), ""), (_term(operand),))
    return None
