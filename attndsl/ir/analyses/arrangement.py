"""The order in which the axes of a kernel lie in its tiles. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import SSAValue

KINDS = ("rows", "keys", "features")
"""The kinds of axes, in the order in which a tile has them where nothing else is said."""

ROWS_LAST = ("keys", "features", "rows")
"""The order in which a kernel has them that says `rows last`."""


def arrangement(kernel: tile.KernelOp) -> dict[SSAValue, tuple[int, int]]:
    """The axes of a kernel, each with what they are sorted by: their kind, and the order of the IR."""
    order = KINDS if kernel.rows_last is None else ROWS_LAST
    axes = [op for op in operations(kernel) if type(op) is tile.RangeOp]
    return {axis.result: (order.index(_kind(axis)), n) for n, axis in enumerate(axes)}


def _kind(axis: tile.RangeOp) -> str:
    """Rows start where a program does, keys where a loop is, features anywhere else."""
    if isinstance(axis.start.owner, tile.ProgramOp):
        return "rows"
    return "keys" if tile.is_key(axis.result) else "features"
