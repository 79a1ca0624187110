"""Conditions in a loop over keys that hold for whole tiles, because they hold in an interval of keys. An analysis."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.intervals import Bounds, Intervals
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith, index


def settled_in(loop: tile.LoopOp, axis: tile.RangeOp, facts: Facts) -> dict[Operation, Bounds]:
    """The conditions in a loop that hold in an interval of keys, and these, computed before the loop."""
    intervals = Intervals(axis.result, loop, facts)
    settled: dict[Operation, Bounds] = {}
    for op in loop.walk():
        if isinstance(op, arith.CmpiOp) and op.rhs is axis.result and (own := _own_end(op, loop)) is not None:
            settled[op] = own
        elif isinstance(op, arith.CmpiOp) and op.lhs.type == index and _has_fixed_ends(op, axis.result, loop, facts):
            bounds = intervals.of(op)
            if bounds is not None:
                settled[op] = bounds
        elif isinstance(op, tile.HoldsOp) and isinstance(op.condition.owner, Operation):
            settled[op.condition.owner] = Bounds(op.start, op.stop)
    return settled


def _own_end(op: arith.CmpiOp, loop: tile.LoopOp) -> Bounds | None:
    """The end of a row's keys, or of all, that an operation compares the key with, which the loop itself tells."""
    match predicate(op):
        case "sle" if op.lhs is loop.row_start:
            return Bounds(op.lhs, None)
        case "sgt" if op.lhs in (loop.row_stop, loop.ub):
            return Bounds(None, op.lhs)
    return None


def _has_fixed_ends(op: arith.CmpiOp, key: SSAValue, loop: tile.LoopOp, facts: Facts) -> bool:
    """Whether all that a comparison is made of is the key or was there before the loop."""
    atoms = {v for side in op.operands for monomial in facts.of(side, free=True) for v in monomial}
    quotients = {v for v in atoms if isinstance(v.owner, arith.FloorDivSIOp) and v.owner.lhs is key}
    divisors = {v.owner.rhs for v in quotients if isinstance(v.owner, arith.FloorDivSIOp)}
    rest = (atoms | divisors) - quotients - {key}
    return bool(quotients or key in atoms) and not any(loop.is_ancestor(v.owner) for v in rest)


def over_rows(
    loop: tile.LoopOp,
    ends: Sequence[SSAValue],
    merge: type[arith.MaxSIOp | arith.MinSIOp],
    reduce: type[tile.MaxOp | tile.MinOp],
) -> SSAValue:
    """The largest or least of `ends`, of all rows, computed before the loop."""
    axes = AxesAnalysis()
    result: SSAValue | None = None
    for end in ends:
        for row in axes(end):
            end = insert_before(loop, reduce(end, row))
        result = end if result is None else insert_before(loop, merge(result, end))
    assert result is not None
    return result
