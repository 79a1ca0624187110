"""Broadcasts operands that have lost an axis: folded, one may no longer depend on that which its user reduces."""

from __future__ import annotations

from collections.abc import Collection

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import insert_before
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ModuleOp, Operation, SSAValue

KEEP_AXES = frozenset({tile.SumOp, tile.MaxOp, tile.MinOp, tile.AllOp, tile.TopOp, tile.DotOp, tile.LoopOp})
"""Operations whose operands have axes of theirs."""


def keep_axes(module: ModuleOp, axes: AxesAnalysis) -> None:
    """sum x over j -> sum (broadcast x over j) over j, where x does not vary along j; likewise in products and yields.

    A value that a loop yields has the axes of its initial value. `axes` are those of the module; to broadcast an
    operand changes the axes of no other value.
    """
    every = operations(module)
    order: dict[SSAValue, int] = {op.results[0]: place for place, op in enumerate(every) if type(op) is tile.RangeOp}
    for op in (op for op in every if type(op) in KEEP_AXES):
        match op:
            case tile.ReduceOp():
                _keep(op, 0, [op.over], axes)
            case tile.DotOp() | tile.TopOp():
                _keep(op, 0, [op.over], axes)
                _keep(op, 1, [op.over], axes)
            case tile.LoopOp():
                for position, start in enumerate(op.iter_args):
                    _keep(op.end, position, sorted(axes(start), key=order.__getitem__), axes)


def _keep(op: Operation, position: int, wanted: Collection[SSAValue], axes: AxesAnalysis) -> None:
    """Broadcasts an operand along those of the `wanted` axes that it does not vary along."""
    value = op.operands[position]
    lost = [axis for axis in wanted if axis not in axes(value)]
    if lost:
        op.operands[position] = insert_before(op, tile.BroadcastOp(value, lost))
