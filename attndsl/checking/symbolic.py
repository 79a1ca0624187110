"""Expressions of dims and parameters as plain data: what a cached op keeps of a spec, and what extents in the IR are.

A number or truth value stands for itself, `("dim", "B")`, `("param", "window")` and `("choice", "SPLITS")` for what a
call or its launch gives, and `("iadd", left, right)` for a row of `attndsl.checking.operators.OPERATORS`. Nested
tuples become lists in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from graphlib import TopologicalSorter
from types import MappingProxyType
from typing import Any

from attndsl.checking.extents import LinearExtent, Origin, Term, combine
from attndsl.checking.numbers import ON_NUMBERS

Expression = int | float | bool | str | tuple["Expression", ...]
"""An expression; a string stands only in first place of a tuple, or as the name of a leaf."""

Values = Mapping[str, Any]

NONE: Values = MappingProxyType({})


def evaluate(expression: Expression, dims: Values, params: Values, choices: Values = NONE) -> Any:
    """What an expression is worth for these dims, parameters and choices of a launch.

    `and`, `or` and `if` evaluate what they reach. Raises ZeroDivisionError where an integer is divided by zero.
    """
    match expression:
        case ("dim", str(name)):
            return dims[name]
        case ("param", str(name)):
            return params[name]
        case ("choice", str(name)):
            return choices[name]
        case ("and", left, right):
            return evaluate(left, dims, params, choices) and evaluate(right, dims, params, choices)
        case ("or", left, right):
            return evaluate(left, dims, params, choices) or evaluate(right, dims, params, choices)
        case ("iselect" | "fselect" | "bselect", condition, then, otherwise):
            reached = then if evaluate(condition, dims, params, choices) else otherwise
            return evaluate(reached, dims, params, choices)
        case ("beq" | "bne" as name, left, right):  # torch compares no truth values that are symbolic
            return ON_NUMBERS[name](
                bool(evaluate(left, dims, params, choices)), bool(evaluate(right, dims, params, choices))
            )
        case (str(name), *operands):
            return ON_NUMBERS[name](*(evaluate(operand, dims, params, choices) for operand in operands))
        case _:
            return expression


def leaves(expression: Expression) -> Iterator[tuple[str, str]]:
    """The dims, parameters and choices in an expression, kind and name, from left to right, as often as they stand."""
    match expression:
        case ("dim" | "param" | "choice" as kind, str(name)):
            yield kind, name
        case (str(), *operands):
            for operand in operands:
                yield from leaves(operand)


def names(expression: Expression) -> Iterator[str]:
    """The names of the same."""
    return (name for _, name in leaves(expression))


def line_of(expression: Expression) -> Term:
    """An extent as far as it is of one dim."""
    match expression:
        case ("dim", str(name)):
            return LinearExtent(name)
        case ("param", str()):
            return expression
        case (str(operator), *operands):
            return combine(operator, [line_of(operand) for operand in operands])
        case int():
            return expression
    return None


def settled(line: LinearExtent, params: Values) -> LinearExtent:
    """The line of a call with these parameters, which is of numbers; its factor is 0 where its extent tells no dim.

    Raises ZeroDivisionError where an integer is divided by zero.
    """
    if line.is_of_numbers:
        return line
    return replace(line, factor=evaluate(line.factor, {}, params), offset=evaluate(line.offset, {}, params))


def order_of(told: Mapping[str, Origin], formulas: Mapping[str, Expression]) -> list[str]:
    """The dims that are told, and the parameters that have formulas, each after what it is computed from.

    Raises graphlib.CycleError where one is computed from itself.
    """
    needs = {dim: {*names(origin.line.factor), *names(origin.line.offset)} for dim, origin in told.items()}
    needs |= {name: {*names(formula)} for name, formula in formulas.items()}
    return [name for name in TopologicalSorter(needs).static_order() if name in needs]
