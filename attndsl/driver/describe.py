"""The schedule that `tile` IR holds, in words: what a program is, what shares a tile, and what a mask still costs."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import ModuleOp, SSAValue, arith, i1, scf


def describe(module: ModuleOp) -> dict[str, str]:
    """What was chosen and why, by name; the names of several kernels have the kernel's after them."""
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    told: dict[str, str] = {}
    for kernel in kernels:
        suffix = f" ({kernel.entry.data})" if len(kernels) > 1 else ""
        told.update({f"{name}{suffix}": text for name, text in _kernel(kernel).items()})
    return told


def _kernel(kernel: tile.KernelOp) -> dict[str, str]:
    programs = [op for op in kernel.walk() if isinstance(op, tile.ProgramOp)]
    loops = [op for op in kernel.body.block.ops if isinstance(op, scf.ForOp)]
    told = {"programs": ", ".join(op.variable.data for op in programs) or "one"}
    for op in kernel.walk():
        if isinstance(op, tile.LaneOp) and isinstance(op.start.owner, tile.ProgramOp):
            told["rows"] = f"{op.variable.data}, {constant(op.size)} a tile: these rows read the same keys"
    for loop in loops:
        lane = next((op for op in loop.body.block.ops if isinstance(op, tile.LaneOp)), None)
        told["keys"] = f"{lane.variable.data}, {constant(lane.size)} a tile" if lane else "one at a time"
        told["range"] = _range(loop)
        told["mask"] = _mask(loop, lane.result if lane else None)
    return told


def _range(loop: scf.ForOp) -> str:
    ends = [end.owner for end in (loop.lb, loop.ub)]
    if any(isinstance(end, (tile.MinOp, tile.MaxOp)) for end in ends):
        return "cut to the keys that some row of the tile can see"
    return "the same for all rows of a tile"


def _mask(loop: scf.ForOp, lane: SSAValue | None) -> str:
    axes = AxesAnalysis()
    tested = [
        axes(op.cond)
        for op in loop.body.block.ops
        if isinstance(op, arith.SelectOp) and op.cond.type == i1 and lane in axes(op.cond)
    ]
    if not tested:
        return "none is left to test"
    by_row = any(len(condition) > 1 for condition in tested)
    return f"tested for every {'row and key' if by_row else 'key'} of a tile"
