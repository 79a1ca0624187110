"""What the pointwise operators mean on Python's numbers; those that need not all their operands are left out.

Integers wrap to 64 bits.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

LARGEST_PARAMETER = 2**62
"""The magnitude up to which a call takes an `int` parameter: the sum of two such, or with an index, fits 64 bits."""

LARGEST_SIZE = 2**48
"""The extent up to which a call takes a dim: no memory has more elements."""


def wrap(value: int) -> int:
    """The 64-bit two's complement integer equal to `value` modulo 2^64."""
    return (value + 2**63) % 2**64 - 2**63


_SINGLE = struct.Struct("<f")


def single(value: float) -> float:
    """What an `f32` parameter is: the nearest number of f32. Raises OverflowError where that would be an infinity."""
    (rounded,) = _SINGLE.unpack(_SINGLE.pack(value))
    return float(rounded)


_FLOATS = {
    "f64": (53, -1022, 1024),
    "f32": (24, -126, 128),
    "bf16": (8, -126, 128),
    "f16": (11, -14, 16),
    "f8e5m2": (3, -14, 16),
    "f8e4m3": (3, -6, 8),
}
"""For each type the bits of a significand, of e4m3 those that all its numbers have, and the ends of its exponents."""


def holds(element: str, value: int | float | bool) -> bool:
    """Whether a type has a number, as it is; of denormal numbers none is said to be one."""
    if element == "bool":
        return isinstance(value, bool)
    if element not in _FLOATS:
        numbers = 1 << int(element[1:])
        low = -numbers // 2 if element[0] == "i" else 0
        return low <= value < low + numbers
    if math.isinf(value):
        return element != "f8e4m3"
    bits, least, most = _FLOATS[element]
    significand, exponent = math.frexp(value)
    return value == 0 or (least < exponent <= most and math.ldexp(significand, bits).is_integer())


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of integers whose result wraps. Symbolic ones, as torch has them while it traces, stay as they are."""

    def wrapping(*operands: Any) -> Any:
        result = function(*operands)
        return result if type(result) is not int or -(2**63) <= result < 2**63 else wrap(result)

    return wrapping


def _shift_left(value: int, by: int) -> int:
    """`value << by`; shifting by a negative number or by 64 and more leaves 0."""
    return value << by if 0 <= by < 64 else 0


def _shift_right(value: int, by: int) -> int:
    """`value >> by`, keeping the sign; shifting by a negative number or by 64 and more leaves 0 or -1."""
    return value >> (by if 0 <= by < 64 else 63)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _real_divide(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _or_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of real numbers that is NaN where one of them is."""
    return lambda *operands: function(*operands) if all(x == x for x in operands) else math.nan


def _real(function: Callable[[float], float], pole: float = math.nan) -> Callable[[float], float]:
    """A real function that is NaN where Python's raises, but `pole` at 0 and where it leaves the floats."""

    def real(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return pole
        except ValueError:
            return pole if x == 0 else math.nan

    return real


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """The four words that Philox-4x32-10 makes of a counter of four words and a key of two.

    Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
    """
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [second >> 32 ^ c[1] ^ k[0], second % 2**32, first >> 32 ^ c[3] ^ k[1], first % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def random_number(seed: int, offset: int) -> float:
    """A number from 0 up to 1: the key is the seed, the counter the offset and two words of 0, low words first."""
    word, *_ = philox([offset % 2**32, (offset >> 32) % 2**32, 0, 0], [seed % 2**32, (seed >> 32) % 2**32])
    return (word >> 8) * 2.0**-24


ON_NUMBERS: dict[str, Callable[..., Any]] = {
    "iadd": _wrapping(operator.add),
    "isub": _wrapping(operator.sub),
    "imul": _wrapping(operator.mul),
    "idiv": _wrapping(operator.floordiv),
    "ineg": _wrapping(operator.neg),
    "iabs": _wrapping(abs),
    "ishl": _wrapping(_shift_left),
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fneg": operator.neg,
    "fabs": abs,
    "imin": min,
    "imax": max,
    "fmin": _or_nan(min),
    "fmax": _or_nan(max),
    **dict.fromkeys(("ieq", "feq", "beq"), operator.eq),
    **dict.fromkeys(("ine", "fne", "bne"), operator.ne),
    **dict.fromkeys(("ilt", "flt"), operator.lt),
    **dict.fromkeys(("ile", "fle"), operator.le),
    **dict.fromkeys(("igt", "fgt"), operator.gt),
    **dict.fromkeys(("ige", "fge"), operator.ge),
    "imod": operator.mod,
    "iand": operator.and_,
    "ior": operator.or_,
    "ixor": operator.xor,
    "ishr": _shift_right,
    "fdiv": _real_divide,
    "not": operator.not_,
    "float": float,
    "random": lambda seed, offset: random_number(int(seed), int(offset)),
    "exp": _real(math.exp, math.inf),
    "exp2": _real(math.exp2, math.inf),
    "log": _real(math.log, -math.inf),
    "log2": _real(math.log2, -math.inf),
    "sqrt": _real(math.sqrt),
    "rsqrt": _real(lambda x: _real_divide(1.0, math.sqrt(x))),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": _sigmoid,
    "relu": lambda x: max(x, 0.0),
    "floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
}
"""A row for each operator of `checking.operators` that evaluates all its operands."""
