"""How many programs of a kernel threads can share, computed before they run. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.analyses.facts import is_launch_time
from attndsl.ir.analyses.meeting import apart
from attndsl.ir.rewrite import constant, copy_before, index_constant, insert_before
from attndsl.ir.xdsl import Operation, SSAValue, arith


def programs_of(kernel: tile.KernelOp, begin: Operation) -> SSAValue:
    """How many programs threads can share, as far as that is known before they run; computed before `begin`."""
    found: SSAValue | None = None
    copies: dict[SSAValue, SSAValue] = {}
    for program in apart(kernel):
        extent, step = program.bound or program.extent, program.step
        if not (is_launch_time(extent) and is_launch_time(step)):
            continue
        extent = copy_before(begin, extent, copies)
        if constant(step) != 1:
            step = copy_before(begin, step, copies)
            last = insert_before(begin, arith.SubiOp(step, insert_before(begin, index_constant(1))))
            extent = whole_times(begin, insert_before(begin, arith.AddiOp(extent, last)), step)
        found = extent if found is None else insert_before(begin, arith.MuliOp(found, extent), "programs")
    return found if found is not None else insert_before(begin, index_constant(1))


def whole_times(anchor: Operation, numbers: SSAValue, each: SSAValue) -> SSAValue:
    """How often `each` goes into so many; it counts as 1 where it is less."""
    if not (constant(each) or 0) > 0:
        each = insert_before(anchor, arith.MaxSIOp(each, insert_before(anchor, index_constant(1))))
    return insert_before(anchor, arith.FloorDivSIOp(numbers, each))
