"""The order in which the axes of a kernel lie in its tiles. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import SSAValue

ROWS, KEYS, FEATURES = range(3)
"""The kinds of axes, in the order in which a tile has them."""


def arrangement(kernel: tile.KernelOp) -> dict[SSAValue, tuple[int, int]]:
    """The axes of a kernel, each with what they are sorted by: their kind, and the order of the IR."""
    axes = [op for op in operations(kernel) if type(op) is tile.RangeOp]
    return {axis.result: (_kind(axis), n) for n, axis in enumerate(axes)}


def _kind(axis: tile.RangeOp) -> int:
    """Rows start where a program does, keys where a loop is, features anywhere else."""
    return ROWS if isinstance(axis.start.owner, tile.ProgramOp) else KEYS if tile.is_key(axis.result) else FEATURES
