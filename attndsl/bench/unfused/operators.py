"""What the pointwise operators do to torch tensors: one row each, as in `checking.operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _divisor(right: torch.Tensor) -> torch.Tensor:
    """A divisor that is never zero: what is divided by zero is absent, whatever its value."""
    return torch.where(right == 0, torch.ones_like(right), right)


ON_TENSORS: dict[str, Callable[..., Any]] = {
    "iadd": torch.add,
    "isub": torch.sub,
    "imul": torch.mul,
    "idiv": lambda a, b: torch.div(a, _divisor(b), rounding_mode="floor"),
    "imod": lambda a, b: torch.remainder(a, _divisor(b)),
    "ineg": torch.neg,
    "imin": torch.minimum,
    "imax": torch.maximum,
    "iabs": torch.abs,
    "iand": torch.bitwise_and,
    "ior": torch.bitwise_or,
    "ixor": torch.bitwise_xor,
    "ishl": torch.bitwise_left_shift,
    "ishr": torch.bitwise_right_shift,
    "ieq": torch.eq,
    "ine": torch.ne,
    "ilt": torch.lt,
    "ile": torch.le,
    "igt": torch.gt,
    "ige": torch.ge,
    "iselect": torch.where,
    "fadd": torch.add,
    "fsub": torch.sub,
    "fmul": torch.mul,
    "fdiv": torch.div,
    "fneg": torch.neg,
    "fmin": torch.minimum,
    "fmax": torch.maximum,
    "fabs": torch.abs,
    "feq": torch.eq,
    "fne": torch.ne,
    "flt": torch.lt,
    "fle": torch.le,
    "fgt": torch.gt,
    "fge": torch.ge,
    "fselect": torch.where,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "floor": torch.floor,
    "and": torch.logical_and,
    "or": torch.logical_or,
    "not": torch.logical_not,
    "beq": torch.eq,
    "bne": torch.ne,
    "bselect": torch.where,
}
"""All but `float`, which depends on the precision."""


def present_of(operator: str, values: list[torch.Tensor], presents: list[torch.Tensor]) -> torch.Tensor:
    """Where an operator's result is present, as `reference.row` says: `and`, `or` and a select reach what they need."""
    match operator:
        case "and":
            return presents[0] & (~values[0] | presents[1])
        case "or":
            return presents[0] & (values[0] | presents[1])
        case "iselect" | "fselect" | "bselect":
            return presents[0] & torch.where(values[0], presents[1], presents[2])
        case "idiv" | "imod":
            return presents[0] & presents[1] & (values[1] != 0)
    present = presents[0]
    for other in presents[1:]:
        present = present & other
    return present
