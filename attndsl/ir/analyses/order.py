"""Which of two integers is the larger one, where that can be seen wherever both are computed. An analysis of `tile`."""

from __future__ import annotations

from math import prod

from attndsl.ir import tile
from attndsl.ir.polynomial import Facts, add
from attndsl.ir.xdsl import SSAValue, arith

_DEEPEST = 12
"""How many minima and maxima, one of the next, are looked through."""


def is_at_least(value: SSAValue, other: SSAValue, facts: Facts, depth: int = _DEEPEST) -> bool:
    """Whether one integer can be seen to be at least another."""
    if value is other or not depth:
        return value is other
    match value.owner:
        case tile.MaxOp() as op:  # of rows, of which a tile has some
            return is_at_least(op.body, other, facts, depth - 1)
        case arith.MinSIOp() as op:
            return all(is_at_least(operand, other, facts, depth - 1) for operand in op.operands)
        case arith.MaxSIOp() as op if any(is_at_least(operand, other, facts, depth - 1) for operand in op.operands):
            return True
    match other.owner:
        case arith.MinSIOp() as op if any(is_at_least(value, operand, facts, depth - 1) for operand in op.operands):
            return True
        case arith.MaxSIOp() as op:
            return all(is_at_least(value, operand, facts, depth - 1) for operand in op.operands)
    least = 0
    for monomial, coefficient in add(facts.of(value), facts.of(other), -1).items():
        lows = [_least(factor, facts) for factor in monomial]
        if coefficient > 0 and (len(lows) == 1 or all(low >= 0 for low in lows)):
            least += coefficient * prod(lows)
        elif len(lows) == 1:
            least += coefficient * facts.ranges(monomial[0]).high
        elif lows:
            return False
        else:
            least += coefficient
    return least >= 0


def _least(value: SSAValue, facts: Facts) -> int:
    """A number that an integer is at least."""
    op, least = value.owner, facts.ranges(value).low
    if isinstance(op, arith.FloorDivSIOp) and facts.positive(op.rhs) and _least(op.lhs, facts) >= 0:
        return 0  # a range does not tell that what divides it is not 0
    return least
