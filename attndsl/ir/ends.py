"""Where the axes of tiles end: at the least of where they stop and what their size reaches to."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.rewrite import insert_before
from attndsl.ir.xdsl import SSAValue, arith


def stops_in_time(axis: tile.RangeOp) -> bool:
    """Whether an axis stops at what its size reaches to, or before: then no smaller end has to be found."""
    size, stop = axis.size.owner, axis.stop.owner
    if isinstance(size, arith.SubiOp) and (size.lhs, size.rhs) == (axis.stop, axis.start):
        return True
    reach = stop.lhs.owner if isinstance(stop, arith.MinSIOp) else None
    return isinstance(reach, arith.AddiOp) and (reach.lhs, reach.rhs) == (axis.start, axis.size)


def end_of(axis: tile.RangeOp) -> SSAValue:
    """The integer that an axis ends at, computed before it, which stops there from now on."""
    if not stops_in_time(axis):
        following = insert_before(axis, arith.AddiOp(axis.start, axis.size))
        axis.operands[1] = insert_before(axis, arith.MinSIOp(following, axis.stop), f"{axis.variable.data}_end")
    return axis.stop
