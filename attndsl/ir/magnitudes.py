"""How large and how small a single real number can be, before any data are read. An analysis.

Of constants and extents alone: a parameter may be any number. An extent counts as 1 at least: where it is 0, there is
nothing to compute, or a division by 0 of which nothing is promised.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

from attndsl.ir import spec
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import SSAValue, arith, math


class Magnitude(NamedTuple):
    """Between which numbers, neither negative, the absolute value of a real number lies."""

    least: float
    most: float


ANY_MAGNITUDE = Magnitude(0.0, inf)


class Magnitudes:
    """The magnitudes of single numbers, remembered: `Magnitudes()(value)`."""

    def __init__(self) -> None:
        self._ranges = Ranges()
        self._known: dict[SSAValue, Magnitude] = {}

    def __call__(self, value: SSAValue) -> Magnitude:
        """What is known of a number; nothing, where it is not made of constants and extents."""
        if value not in self._known:
            self._known[value] = self._of(value)
        return self._known[value]

    def _of(self, value: SSAValue) -> Magnitude:
        if (known := constant(value)) is not None:
            return Magnitude(abs(known), abs(known))
        match value.owner:
            case spec.ToFloatOp(operand=extent) if isinstance(extent.owner, spec.DimOp):
                return Magnitude(1.0, float(self._ranges(extent).high))
            case arith.MulfOp(lhs=left, rhs=right):
                a, b = self(left), self(right)
                return Magnitude(a.least * b.least, a.most * b.most if a.most and b.most else 0.0)
            case arith.DivfOp(lhs=left, rhs=right):
                a, b = self(left), self(right)
                return Magnitude(a.least / b.most if b.most else inf, a.most / b.least if b.least else inf)
            case math.SqrtOp(operand=operand):
                return Magnitude(*map(sqrt, self(operand)))
            case arith.NegfOp(operand=operand):
                return self(operand)
        return ANY_MAGNITUDE
