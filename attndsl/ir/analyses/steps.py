"""The steps of a kernel's programs, operations on tiles, and how large they are as a call knows. An analysis.

A step is as large as all axes of its operands together: for a matrix product its multiplications.
"""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import is_launch_time
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant, copy_before, insert_before
from attndsl.ir.sizes import known_limit
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, arith


def largest_step(kernel: tile.KernelOp, *, of_keys: bool = False) -> list[tile.RangeOp]:
    """The axes of the operation on tiles that has most, in the order of the kernel; none where there is no such tile.

    With `of_keys` only operations count that have an axis of keys.
    """
    axes = AxesAnalysis()
    makers = [op for op in operations(kernel) if op.results and not op.regions]
    steps = [frozenset[SSAValue]().union(*map(axes, op.operands)) for op in makers]
    if of_keys:
        steps = [step for step in steps if any(map(tile.is_key, step))]
    largest = max(steps, key=len, default=frozenset[SSAValue]())
    return [op for op in makers if isinstance(op, tile.RangeOp) and op.result in largest]


def is_of_rows(axis: tile.RangeOp) -> bool:
    """Whether an axis is one of rows: it starts where a program does."""
    return isinstance(axis.start.owner, tile.ProgramOp)


class Lengths:
    """How long axes are at most, as far as that is known before a call reads data; computed before `begin`."""

    def __init__(self, begin: Operation) -> None:
        self.begin = begin
        self.copies: dict[SSAValue, SSAValue] = {}

    def product(self, lengths: Iterable[SSAValue | int]) -> tuple[int, SSAValue | None]:
        """The product of lengths: a number, times an integer where it takes one."""
        number, integer = 1, None
        for length in lengths:
            if isinstance(length, int):
                number *= length
            else:
                integer = length if integer is None else insert_before(self.begin, arith.MuliOp(integer, length))
        return number, integer

    def of(self, axis: tile.RangeOp) -> SSAValue | int:
        """The smaller of an axis's size and of what else limits it; a number where that is all that is known."""
        limit = self.limit(axis)
        if limit is None and (known := constant(axis.size)) is not None:
            return int(known)
        size = copy_before(self.begin, axis.size, self.copies)
        if limit is None:
            return size
        return insert_before(self.begin, arith.MinSIOp(limit, size), "tile_rows" if is_of_rows(axis) else None)

    def limit(self, axis: tile.RangeOp) -> SSAValue | None:
        """How many rows or keys there are, or of what tensor keys are places."""
        start, loop = axis.start.owner, axis.parent_op()
        found: SSAValue | None = None
        if isinstance(start, tile.ProgramOp):
            found = start.bound or start.extent
        elif isinstance(loop, tile.LoopOp):
            found = known_limit(loop.ub)
            if found is None and (dim := _dim_indexed(axis.result)) is not None:
                return insert_before(self.begin, spec.DimOp(dim))
        known = found is not None and is_launch_time(found)
        return copy_before(self.begin, found, self.copies) if found is not None and known else None


def _dim_indexed(axis: SSAValue) -> str | None:
    """A dim that is the extent of a tensor in which an axis, perhaps shifted, is a place."""
    places = [axis, *(op.results[0] for op in tile.users(axis) if isinstance(op, arith.AddiOp))]
    loads = [(op, place) for place in places for op in tile.users(place) if isinstance(op, tile.LoadOp)]
    for op, place in loads:
        match enclosing_tensor(op, op.tensor.string_value()).shape[list(op.indices).index(place)]:
            case ("dim", str(name)):
                return name
    return None
