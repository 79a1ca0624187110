"""How a sum of products can be computed with tiles. An analysis.

A sum over an axis of a product of factors is a matrix product where the factors part into two groups, each of which
varies along one other axis; a sum of an elementwise product where at most one other axis is involved; and else a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from attndsl.ir.traits import Axes, Axis
from attndsl.ir.xdsl import SSAValue, arith


@dataclass(frozen=True)
class ContractionPlan:
    """The factors of a sum over one axis, sorted out.

    `left` and `right` are what is multiplied inside the sum (`right` is empty unless the form is `dot`); `outside` and
    `divisors` do not vary along the axis. In a `precise` one no factor may be rounded.
    """

    form: Literal["dot", "sum", "loop"]
    left: tuple[SSAValue, ...]
    right: tuple[SSAValue, ...]
    outside: tuple[SSAValue, ...] = ()
    divisors: tuple[SSAValue, ...] = ()
    negative: bool = False
    precise: bool = False

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """Everything that the sum is computed from."""
        return self.left + self.right + self.outside + self.divisors

    def in_turn(self) -> ContractionPlan:
        """The same sum, one value of the axis at a time."""
        return replace(self, form="loop", left=self.left + self.right, right=())


def contraction(
    body: SSAValue, over: Axis, axes: Callable[[SSAValue], Axes], weight: Axes | None = None
) -> ContractionPlan:
    """How to sum `body` over the axis `over`.

    `axes` gives the axes that a value varies along. `weight` holds those of one more factor, which counts as the
    first of the left group and is not listed there.
    """
    factors, divisors, negative = _factors(body, over, axes)
    inside = [f for f in factors if over in axes(f)]
    outside = tuple(f for f in factors if over not in axes(f))
    return replace(product(inside, over, axes, weight), outside=outside, divisors=divisors, negative=negative)


def product(
    inside: list[SSAValue], over: Axis, axes: Callable[[SSAValue], Axes], weight: Axes | None = None
) -> ContractionPlan:
    """How to sum a product over the axis `over`, all of it term by term."""
    varying = {f: axes(f) - {over} for f in inside}
    varied = frozenset[Axis]().union(*varying.values(), *([weight - {over}] if weight is not None else []))

    def made(form: Literal["dot", "sum", "loop"], left: list[SSAValue], right: list[SSAValue]) -> ContractionPlan:
        return ContractionPlan(form, tuple(left), tuple(right))

    if len(varied) <= 1:
        return made("sum", inside, [])
    if len(varied) > 2 or any(len(v) > 1 for v in varying.values()) or (weight and len(weight - {over}) > 1):
        return made("loop", inside, [])
    first = next(iter(weight - {over}), None) if weight is not None else None
    if first is None:
        first = next(v for v in (next(iter(varying[f]), None) for f in inside) if v is not None)
    left = [f for f in inside if varying[f] <= {first}]
    right = [f for f in inside if not varying[f] <= {first}]
    return made("dot", left, right)


def _factors(
    body: SSAValue, over: Axis, axes: Callable[[SSAValue], Axes]
) -> tuple[list[SSAValue], tuple[SSAValue, ...], bool]:
    """The factors of a product, the divisors that do not vary along the axis, and whether its sign is turned."""
    factors: list[SSAValue] = []
    divisors: list[SSAValue] = []
    negative = False
    stack = [body]
    while stack:
        value = stack.pop()
        op = value.owner
        if isinstance(op, arith.MulfOp):
            stack += [op.rhs, op.lhs]
        elif isinstance(op, arith.NegfOp):
            negative = not negative
            stack.append(op.operand)
        elif isinstance(op, arith.DivfOp) and over not in axes(op.rhs) and over in axes(op.lhs):
            divisors.append(op.rhs)
            stack.append(op.lhs)
        else:
            factors.append(value)
    return factors, tuple(divisors), negative
