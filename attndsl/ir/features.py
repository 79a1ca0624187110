"""Which dims code is made for: those that shape a kernel's tiles. An analysis; it changes nothing."""

from __future__ import annotations

from typing import TypeGuard

from attndsl.ir import attn, spec
from attndsl.ir.xdsl import ModuleOp, Operation, arith


def feature_dims(module: ModuleOp) -> tuple[str, ...]:
    """The dims that the extents of feature variables (`attn.axis`) rest on, and sizes of pages; sorted.

    A page is what a key position is divided by to say where a tensor is read: `table[b, j / S]`.
    """
    found = {op.rhs.owner.dim.data for op in module.walk() if _finds_page(op) and isinstance(op.rhs.owner, spec.DimOp)}
    stack = [extent for op in module.walk() if isinstance(op, attn.AxisOp) for extent in op.operands]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, spec.DimOp):
            found.add(owner.dim.data)
        elif isinstance(owner, Operation):
            stack.extend(owner.operands)
    return tuple(sorted(found))


def _finds_page(op: Operation) -> TypeGuard[arith.FloorDivSIOp | spec.ModOp]:
    """Whether an operation divides a key position, and a read takes what comes out for an index."""
    if not isinstance(op, arith.FloorDivSIOp | spec.ModOp) or not isinstance(op.lhs.owner, attn.OverOp):
        return False
    reads = [use.operation for use in op.result.uses]
    return any(isinstance(read, attn.ReadOp) and op.result in read.indices for read in reads)
