"""Comparisons read as intervals of one variable. An analysis; what it computes stands where it is told to."""

from __future__ import annotations

from typing import NamedTuple

from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.materialise import materialise
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts, Polynomial, add, number
from attndsl.ir.rewrite import constant, insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith


class Bounds(NamedTuple):
    """An interval of a variable: from `lower`, up to but not including `upper`; None: open."""

    lower: SSAValue | None
    upper: SSAValue | None


class Intervals:
    """Reads comparisons of integers as intervals of `variable`, whose ends it computes before `anchor`."""

    def __init__(self, variable: SSAValue, anchor: Operation, facts: Facts) -> None:
        self.variable = variable
        self.anchor = anchor
        self.facts = facts
        self.axes = AxesAnalysis()

    def of(self, op: arith.CmpiOp) -> Bounds | None:
        """The interval in which a comparison holds, None where it is none.

        It is one where the comparison is linear in the variable, or in a quotient of it.
        """
        if predicate(op) != "eq":
            slack = self.facts.slack(op, free=True)
            return self._at_least_zero(slack) if slack is not None else None
        left, right = self.facts.of(op.lhs, free=True), self.facts.of(op.rhs, free=True)
        low, high = self._at_least_zero(add(left, right, -1)), self._at_least_zero(add(right, left, -1))
        if low is None or high is None:
            return None
        return Bounds(low.lower or high.lower, low.upper or high.upper)

    def _at_least_zero(self, slack: Polynomial) -> Bounds | None:
        """Where rest + c * key >= 0, or rest + c * (key / divisor) >= 0, for c = 1 or -1."""
        moving = {m: c for m, c in slack.items() if any(self.variable in self.axes(v) for v in m)}
        if len(moving) != 1:
            return None
        ((monomial, coefficient),) = moving.items()
        if len(monomial) != 1 or abs(coefficient) != 1:
            return None
        rest = add(slack, moving, -1)
        divisor = self._divisor(monomial[0])
        if monomial[0] is not self.variable and divisor is None:
            return None
        if coefficient == 1:
            lower = self._scaled({m: -c for m, c in rest.items()}, divisor)
            return None if lower is None else Bounds(lower, None)
        upper = self._scaled(add(rest, number(1)), divisor)
        return None if upper is None else Bounds(None, upper)

    def _divisor(self, value: SSAValue) -> SSAValue | None:
        """What the variable is divided by in `value`, if that is all that is done to it."""
        op = value.owner
        if not isinstance(op, arith.FloorDivSIOp) or op.lhs is not self.variable or self.variable in self.axes(op.rhs):
            return None
        return op.rhs if self.facts.positive(op.rhs) else None

    def _scaled(self, bound: Polynomial, divisor: SSAValue | None) -> SSAValue | None:
        """What a bound of a quotient is one of the variable; None where the product may leave 64 bits."""
        if divisor is None:
            return materialise(bound, self.anchor)
        product = insert_before(self.anchor, arith.MuliOp(materialise(bound, self.anchor), divisor))
        known = constant(divisor)
        factor = number(int(known)) if known is not None else self.facts.of(divisor)
        scaled = materialise(self.facts.multiply(bound, factor), self.anchor)
        return scaled if self.facts.ranges.fits(product) or self._fits(scaled) else None

    def _fits(self, value: SSAValue) -> bool:
        """Whether 64 bits hold what an integer is computed of, step by step, as (x / d) * d + d, which is near to x."""
        op = value.owner
        steps = op.operands if isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp) else ()
        return self.facts.ranges.fits(value) and all(map(self._fits, steps))
