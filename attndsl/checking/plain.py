"""Typed expressions of dims and parameters as plain data; apart from it, so that a cached op loads no typed classes."""

from __future__ import annotations

from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, ParamValue


def plain(expr: Expr) -> Expression:
    """The expression as `attndsl.checking.symbolic` has it; raises TypeError where it depends on anything else."""
    match expr:
        case Constant():
            return expr.value
        case DimValue():
            return ("dim", expr.name)
        case ParamValue():
            return ("param", expr.name)
        case Apply():
            return (expr.operator, *map(plain, expr.arguments))
        case _:
            raise TypeError(f"{type(expr).__name__} depends on more than dims and parameters")
