"""What an expression of dims and parameters is worth at a call, in Python's numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from attndsl.checking.typed import Apply, Constant, DimValue, Expr, ParamValue

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
        case ParamValue(name=name):
            return params[name]
        case Apply(operator="and", arguments=(left, right)):
            return evaluate(left, dims, params) and evaluate(right, dims, params)
        case Apply(operator="or", arguments=(left, right)):
            return evaluate(left, dims, params) or evaluate(right, dims, params)
        case Apply(operator="iselect" | "fselect" | "bselect", arguments=(condition, then, otherwise)):
            return evaluate(then if evaluate(condition, dims, params) else otherwise, dims, params)
        case Apply(operator=name, arguments=arguments):
            return MEANINGS[name](*(evaluate(argument, dims, params) for argument in arguments))
        case _:
            raise ValueError(f"a {type(expr).__name__} is not known before the data is read")


def shift_left(value: int, by: int) -> int:
    """`value << by`; shifting by a negative number or by 64 and more leaves 0."""
    return value << by if 0 <= by < 64 else 0


def shift_right(value: int, by: int) -> int:
    """`value >> by`, keeping the sign; shifting by a negative number or by 64 and more leaves 0 or -1."""
    return value >> (by if 0 <= by < 64 else 63)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _real_divide(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


MEANINGS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("iadd", "fadd"), operator.add),
    **dict.fromkeys(("isub", "fsub"), operator.sub),
    **dict.fromkeys(("imul", "fmul"), operator.mul),
    **dict.fromkeys(("ineg", "fneg"), operator.neg),
    **dict.fromkeys(("imin", "fmin"), min),
    **dict.fromkeys(("imax", "fmax"), max),
    **dict.fromkeys(("iabs", "fabs"), abs),
    **dict.fromkeys(("ieq", "feq", "beq"), operator.eq),
    **dict.fromkeys(("ine", "fne", "bne"), operator.ne),
    **dict.fromkeys(("ilt", "flt"), operator.lt),
    **dict.fromkeys(("ile", "fle"), operator.le),
    **dict.fromkeys(("igt", "fgt"), operator.gt),
    **dict.fromkeys(("ige", "fge"), operator.ge),
    "idiv": operator.floordiv,
    "imod": operator.mod,
    "iand": operator.and_,
    "ior": operator.or_,
    "ixor": operator.xor,
    "ishl": shift_left,
    "ishr": shift_right,
    "fdiv": _real_divide,
    "not": operator.not_,
    "float": float,
    "exp": math.exp,
    "exp2": math.exp2,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sigmoid": _sigmoid,
    "relu": lambda x: max(x, 0.0),
    "floor": lambda x: float(math.floor(x)),
}
"""The meaning of each operator that evaluates all its operands, on Python's numbers."""
