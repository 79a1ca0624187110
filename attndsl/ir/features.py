"""Which dims say how large the axes of a kernel's tiles are. An analysis; it changes nothing."""

from __future__ import annotations

from attndsl.ir import attn, spec
from attndsl.ir.xdsl import ModuleOp, Operation


def feature_dims(module: ModuleOp) -> tuple[str, ...]:
    """The dims that the extents of feature variables (`attn.axis`) rest on, sorted."""
    found: set[str] = set()
    stack = [extent for op in module.walk() if isinstance(op, attn.AxisOp) for extent in op.operands]
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, spec.DimOp):
            found.add(owner.dim.data)
        elif isinstance(owner, Operation):
            stack.extend(owner.operands)
    return tuple(sorted(found))
