"""How many significant bits the floats of a kernel have, and between which powers of 2 they lie. An analysis.

A number of 4 bits times a scale of 4 bits has at most 8, whatever type computes it; an integer of 8 bits is exact in
any type that has as many. What has no more bits than a smaller type, and stays in its range, is the same number there.
"""

from __future__ import annotations

import math as numbers
from functools import reduce
from operator import or_
from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.ranges import Range, Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, arith, f32, math
from attndsl.storage import ELEMENTS


class Significand(NamedTuple):
    """What holds of some floats: each is a multiple of 2^`low`, less than 2^`high` in magnitude, of so many `bits`.

    NaN and infinities are the same in every type: it says nothing of them.
    """

    bits: int
    low: float
    high: float

    @classmethod
    def of_element(cls, element: str) -> Significand:
        """What holds of all numbers of an element type of floats."""
        held = ELEMENTS[element]
        return cls(held.mantissa_bits + 1, held.lowest_exponent - held.mantissa_bits, held.highest_exponent + 1)

    @classmethod
    def of_integers(cls, integers: Range) -> Significand:
        """What holds of all integers of a range."""
        high = max(map(abs, integers)).bit_length()
        return cls(high, 0, high) if high else ZERO

    @classmethod
    def of_number(cls, value: float) -> Significand:
        """What holds of one number."""
        if value == 0 or not numbers.isfinite(value):
            return ZERO
        numerator, denominator = value.as_integer_ratio()
        low = (numerator & -numerator).bit_length() - denominator.bit_length()
        high = numbers.frexp(value)[1]
        return cls(high - low, low, high)

    def fits(self, element: str) -> bool:
        """Whether all these numbers are numbers of an element type."""
        held = Significand.of_element(element)
        return self.bits <= held.bits and self.low >= held.low and self.high <= held.high

    def __or__(self, other: Significand) -> Significand:
        """What holds of the numbers of both kinds."""
        return Significand(max(self.bits, other.bits), min(self.low, other.low), max(self.high, other.high))

    def __mul__(self, other: Significand) -> Significand:  # type: ignore[override]  # no repetition of a tuple
        """What holds of the products."""
        return Significand(self.bits + other.bits, self.low + other.low, self.high + other.high)

    def __add__(self, other: Significand) -> Significand:  # type: ignore[override]  # no longer tuple
        """What holds of the sums, and of the differences."""
        if ZERO.high in (self.high, other.high):
            return self | other  # one of them is 0
        low, high = min(self.low, other.low), max(self.high, other.high) + 1
        return Significand(int(high - low), low, high)

    def power_of_two(self) -> Significand:
        """What holds of 2 to the power of these numbers."""
        if self.low < 0 or self.high > MOST_EXPONENT_BITS:
            return ANY  # 2 to the power of a fraction, or out of the range of any type
        return Significand(1, -(2**self.high), 2**self.high + 1)


ZERO = Significand(0, numbers.inf, -numbers.inf)
"""What holds of 0 alone."""

ANY = Significand.of_element("f64")
"""What holds of all floats."""

MOST_EXPONENT_BITS = 10
"""No float is 2 to the power of an integer of more bits."""


class Significands:
    """The significands of a kernel's f32 numbers. Valid while the kernel does not change."""

    def __init__(self, kernel: tile.KernelOp) -> None:
        self._elements = {t.sym_name.data: t.element.data for t in spec.declarations(kernel, spec.TensorOp)}
        self._ranges = Ranges()
        self._known: dict[SSAValue, Significand] = {}
        for op in operations(kernel):  # operands first
            if len(op.results) == 1 and op.results[0].type == f32:
                exact = self._exact(op)
                # What has no place in f32 is rounded to any of its numbers.
                self._known[op.results[0]] = exact if exact.fits("f32") else ANY

    def __call__(self, value: SSAValue) -> Significand:
        """What holds of the values of a float."""
        return self._known.get(value, ANY)

    def _exact(self, op: Operation) -> Significand:
        """What holds of a result before it is rounded."""
        match op:
            case arith.ConstantOp():
                return Significand.of_number(float(constant(op.result) or 0))
            case tile.LoadOp():
                return Significand.of_element(self._elements[op.tensor.string_value()])
            case spec.ToFloatOp():
                return Significand.of_integers(self._ranges(op.operand))
            case arith.MulfOp():
                return self(op.lhs) * self(op.rhs)
            case arith.AddfOp() | arith.SubfOp():
                return self(op.lhs) + self(op.rhs)
            case math.Exp2Op():
                return self(op.operand).power_of_two()
            case arith.SelectOp():
                return self(op.lhs) | self(op.rhs)
            case arith.NegfOp() | math.AbsFOp() | arith.MaximumfOp() | arith.MinimumfOp():
                return reduce(or_, map(self, op.operands))
            case tile.BroadcastOp() | tile.RenameAxisOp() | tile.RepeatOp() | tile.FlattenOp():
                return self(op.value)
        return ANY
