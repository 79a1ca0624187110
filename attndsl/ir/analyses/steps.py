"""The steps of a kernel's programs: operations on tiles. An analysis.

A step is as large as all axes of its operands together: for a matrix product its multiplications.
"""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import SSAValue


def largest_step(kernel: tile.KernelOp, *, of_keys: bool = False) -> list[tile.RangeOp]:
    """The axes of the operation on tiles that has most, in the order of the kernel; none where there is no such tile.

    With `of_keys` only operations count that have an axis of keys.
    """
    return largest_steps(kernel, of_keys=of_keys)[0]


def largest_steps(kernel: tile.KernelOp, *, of_keys: bool = False) -> list[list[tile.RangeOp]]:
    """The same of every axis of keys that such an operation has, one for each loop; of the first, if it has none."""
    axes = AxesAnalysis()
    makers = [op for op in operations(kernel) if op.results and not op.regions]
    steps = [frozenset[SSAValue]().union(*map(axes, op.operands)) for op in makers]
    if of_keys:
        steps = [step for step in steps if any(map(tile.is_key, step))]
    most = max(map(len, steps), default=0)
    by_keys: dict[frozenset[SSAValue], frozenset[SSAValue]] = {}
    for step in steps:
        if len(step) == most:
            by_keys.setdefault(frozenset(filter(tile.is_key, step)), step)
    ranges = [op for op in makers if isinstance(op, tile.RangeOp)]
    return [[op for op in ranges if op.result in step] for step in by_keys.values()] or [[]]
