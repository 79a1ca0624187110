"""Integer expressions of dims as text, as they stand in a tensor's extents."""

from __future__ import annotations

import ast

from attndsl.checking import typed
from attndsl.checking.extents import Line, Term, combine
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
