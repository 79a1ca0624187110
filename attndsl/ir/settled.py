"""Conditions in a loop over keys that hold for whole tiles, because they hold in an interval of keys. An analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.intervals import Bounds, Intervals
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant_op, insert_before, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, arith, i1, index


def settled_in(loop: tile.LoopOp, axis: tile.RangeOp, facts: Facts) -> dict[Operation, Bounds]:
    """The conditions in a loop that hold in an interval of keys, and these, computed before the loop."""
    intervals = Intervals(axis.result, loop, facts)
    settled: dict[Operation, Bounds] = {}
    for op in operations(loop):
        if isinstance(op, arith.CmpiOp) and (own := _own_end(op, loop, axis.result)) is not None:
            settled[op] = own
        elif isinstance(op, arith.CmpiOp) and op.lhs.type == index and _has_fixed_ends(op, axis.result, loop, facts):
            bounds = intervals.of(op)
            if bounds is not None:
                settled[op] = bounds
        elif isinstance(op, tile.HoldsOp) and isinstance(op.condition.owner, Operation):
            settled[op.condition.owner] = Bounds(op.start, op.stop)
    return settled


def _own_end(op: arith.CmpiOp, loop: tile.LoopOp, key: SSAValue) -> Bounds | None:
    """The end of a row's keys, or of all, that an operation compares the key with, which the loop itself tells."""
    if predicate(op) == "sle" and op.lhs is loop.row_start and op.rhs is key:
        return Bounds(op.lhs, None)
    return Bounds(None, op.lhs) if is_own_stop(op, loop, key) else None


def is_own_stop(op: Operation, loop: tile.LoopOp, key: SSAValue) -> bool:
    """Whether an operation asks if the key comes before the end of a row's keys, or of all, as a loop's body does."""
    ends = (loop.row_stop, loop.ub)
    return isinstance(op, arith.CmpiOp) and predicate(op) == "sgt" and op.lhs in ends and op.rhs is key


def _has_fixed_ends(op: arith.CmpiOp, key: SSAValue, loop: tile.LoopOp, facts: Facts) -> bool:
    """Whether all that a comparison is made of is the key or was there before the loop."""
    atoms = {v for side in op.operands for monomial in facts.of(side, free=True) for v in monomial}
    quotients = {v for v in atoms if isinstance(v.owner, arith.FloorDivSIOp) and v.owner.lhs is key}
    divisors = {v.owner.rhs for v in quotients if isinstance(v.owner, arith.FloorDivSIOp)}
    rest = (atoms | divisors) - quotients - {key}
    return bool(quotients or key in atoms) and not any(loop.is_ancestor(v.owner) for v in rest)


def settle(condition: Operation, truth: bool, order: Mapping[SSAValue, int]) -> None:
    """Lets a condition be true, or false, at all places of its tile, whose axes are in the `order` of their values."""
    known = insert_before(condition, constant_op(truth, i1))
    axes = sorted(AxesAnalysis()(condition.results[0]), key=order.__getitem__)
    replace(condition, [insert_before(condition, tile.BroadcastOp(known, axes))])


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
