"""Ends of ranges brought near to 0, where data may put them so far away that their distances leave 64 bits."""

from __future__ import annotations

from attndsl.checking.numbers import LARGEST_PARAMETER
from attndsl.ir.ranges import LARGEST_PRODUCT, Ranges
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith

FAR = LARGEST_PARAMETER + LARGEST_PRODUCT
"""From here on a sum with sizes may leave 64 bits."""


def not_far_below(value: SSAValue, anchor: Operation, ranges: Ranges, hint: str | None = None) -> SSAValue:
    """An end below which there is nothing, or 0 where it is less and could be far so; computed before `anchor`."""
    if ranges(value).low >= -FAR:
        return value
    return insert_before(anchor, arith.MaxSIOp(value, insert_before(anchor, index_constant(0))), hint)


def not_far_above(
    value: SSAValue, limit: SSAValue, anchor: Operation, ranges: Ranges, hint: str | None = None
) -> SSAValue:
    """A start, or `limit`, at which nothing is left, where it is more and could be far so; computed before `anchor`."""
    return value if ranges(value).high <= FAR else insert_before(anchor, arith.MinSIOp(value, limit), hint)
