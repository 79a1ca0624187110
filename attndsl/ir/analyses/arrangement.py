"""The order in which the axes of a kernel lie in its tiles. An analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attndsl.ir import spec, tile
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.traits import Axes
from attndsl.ir.walks import ShareOp
from attndsl.ir.xdsl import SSAValue

ROWS_FIRST = ("batch", "rows", "keys", "columns", "features")
"""The kinds of axes, in the order in which a tile has them where nothing else is said."""

ROWS_LAST = ("batch", "keys", "columns", "features", "rows")
"""The order in which a kernel has them that says `rows last`."""


def arrangement(kernel: tile.KernelOp) -> dict[SSAValue, tuple[int, int]]:
    """The axes of a kernel, each with what they are sorted by: their kind, and the order of the IR."""
    order = ROWS_FIRST if kernel.rows_last is None else ROWS_LAST
    axes = [op.result for op in operations(kernel) if type(op) is tile.RangeOp]
    rows = row_axis(kernel)
    return {axis: (order.index("rows" if axis is rows else _kind(axis)), n) for n, axis in enumerate(axes)}


def row_axis(kernel: tile.KernelOp) -> SSAValue | None:
    """The axis of the rows of a tile, None where a program has no more than one row.

    A tile has as many rows as is known, or a launch chooses; how many programs are computed at once, a call computes.
    """
    return _rows_of(_started(kernel))


def batch_axes(kernel: tile.KernelOp) -> Axes:
    """The axes of the programs that are computed at once, as heads: they begin where programs do, and are no rows."""
    started = _started(kernel)
    return frozenset(started) - {_rows_of(started)}


def axes_of_batches(kernel: tile.KernelOp, axes: Callable[[SSAValue], Axes]) -> Axes:
    """All batch axes that products of a kernel have."""
    among = batch_axes(kernel)
    dots = [op for op in operations(kernel) if isinstance(op, tile.DotOp)]
    return frozenset[SSAValue]().union(*(dot.sides(axes, among)[0] for dot in dots))


def _started(kernel: tile.KernelOp) -> list[SSAValue]:
    """The axes that begin where programs do, but for columns."""
    return [op.result for op in operations(kernel) if type(op) is tile.RangeOp and _kind(op.result) == "batch"]


def _rows_of(started: Sequence[SSAValue]) -> SSAValue | None:
    return next((axis for axis in reversed(started) if not _is_computed(axis)), None)


def _is_computed(axis: SSAValue) -> bool:
    """Whether how many values of a program's variable an axis has is neither known nor chosen."""
    assert isinstance(axis.owner, tile.RangeOp)
    program = axis.owner.start.owner
    step = program.step if isinstance(program, tile.ProgramOp) else None
    return step is not None and constant(step) is None and not isinstance(step.owner, spec.ChoiceOp)


def _kind(axis: SSAValue) -> str:
    """Batches, rows and columns start where a program does, or a role, keys where a loop is, features anywhere else."""
    assert isinstance(axis.owner, tile.RangeOp)
    start = axis.owner.start.owner
    if isinstance(start, ShareOp):
        return "batch"
    if isinstance(start, tile.ProgramOp):
        return "columns" if tile.is_column(axis) else "batch"
    return "keys" if tile.is_key(axis) else "features"
