"""What the pointwise operators do to torch tensors: one row each, as in `checking.operators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _divisor(right: torch.Tensor) -> torch.Tensor:
    """A divisor that is never zero: what is divided by zero is absent, whatever its value."""
    return torch.where(right == 0, torch.ones_like(right), right)


def _times(number: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The high and the low word of a product of two words of 32 bits."""
    low = number * (word & 0xFFFF)
    high = number * (word >> 16) + (low >> 16)
    return high >> 16, (high & 0xFFFF) << 16 | (low & 0xFFFF)


def _random(seed: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Philox-4x32-10, as `checking.numbers` has it."""
    word = 2**32 - 1
    k0, k1, c0, c1 = seed & word, seed >> 32 & word, offset & word, offset >> 32 & word
    c2 = c3 = torch.zeros_like(c0)
    for _ in range(10):
        (high, low), (other_high, other_low) = _times(0xD2511F53, c0), _times(0xCD9E8D57, c2)
        c0, c1, c2, c3 = other_high ^ c1 ^ k0, other_low, high ^ c3 ^ k1, low
        k0, k1 = k0 + 0x9E3779B9 & word, k1 + 0xBB67AE85 & word
    return (c0 >> 8) * 2.0**-24


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
    "tan": torch.tan,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "floor": torch.floor,
    "random": _random,
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
