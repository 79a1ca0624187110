"""What an expression of dims and parameters is worth at a call, in Python's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attndsl.checking.numbers import ON_NUMBERS, single
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, Kind, Param, ParamValue

Number = int | float | bool


def evaluate(expr: Expr, dims: Mapping[str, int], params: Mapping[str, Number]) -> Any:
    """What an expression made of dims, parameters and numbers is worth; `and`, `or` and `if` evaluate what they reach.

    Raises ZeroDivisionError where an integer is divided by zero, ValueError for an expression of anything else.
    """
    match expr:
        case Constant(value=value):
            return value
        case DimValue(name=name):
            return dims[name]
        case ParamValue(kind=Kind.FLOAT, name=name):
            return single(params[name])
        case ParamValue(name=name):
            return params[name]
        case Apply(operator="and", arguments=(left, right)):
            return evaluate(left, dims, params) and evaluate(right, dims, params)
        case Apply(operator="or", arguments=(left, right)):
            return evaluate(left, dims, params) or evaluate(right, dims, params)
        case Apply(operator="iselect" | "fselect" | "bselect", arguments=(condition, then, otherwise)):
            return evaluate(then if evaluate(condition, dims, params) else otherwise, dims, params)
        case Apply(operator=name, arguments=arguments):
            return ON_NUMBERS[name](*(evaluate(argument, dims, params) for argument in arguments))
        case _:
            raise ValueError(f"a {type(expr).__name__} is not known before the data is read")


def with_defaults(
    params: Iterable[Param], dims: Mapping[str, int], given: Mapping[str, Number | None]
) -> dict[str, Number]:
    """A value for each parameter that is given or can be left out: what a call with these dims computes with.

    Raises ZeroDivisionError or KeyError where a formula divides an integer by 0, or is of a dim that `dims` lacks.
    """
    found: dict[str, Number] = {}
    for param in params:
        value = given.get(param.name)
        if value is None:
            value = param.default
        if value is None and param.formula is not None:
            value = evaluate(param.formula, dims, found)
        if value is not None:
            found[param.name] = value
    return found
