"""Which programs of a kernel add to elements that no other value of their variable adds to. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.xdsl import SSAValue


def apart(kernel: tile.KernelOp) -> list[tile.ProgramOp]:
    """The variables of the programs, in their order, of which those that may meet have one value.

    A subscript that is such a variable, or the axis of its tile, tells its value from the element.
    """
    ops = list(kernel.body.block.ops)
    meeting = [op for op in ops if isinstance(op, tile.StoreOp) and op.meets]
    told = [{_start(index) for index in store.indices} - {*store.along} for store in meeting]
    programs = [op for op in ops if isinstance(op, tile.ProgramOp)]
    return [program for program in programs if all(program.result in each for each in told)]


def _start(index: SSAValue) -> SSAValue:
    """Where the axis starts that a subscript is, or the subscript itself."""
    return index.owner.start if isinstance(index.owner, tile.RangeOp) else index
