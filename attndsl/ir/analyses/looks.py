"""What a kernel reads that another one found out for it, which is scheduled as it. An analysis."""

from __future__ import annotations

from attndsl.ir import tile
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import SSAValue


def found_before(load: tile.LoadOp) -> SSAValue | None:
    """What a load reads, as the kernel that leaves it there calls it; None where none that is scheduled as it does."""
    kernel = tile.kernel_around(load)
    before = kernel.prev_op if kernel is not None else None
    while isinstance(before, tile.KernelOp) and before.scheduled_as is not None and before.scheduling is kernel:
        for store in of_kind(before, tile.StoreOp):
            same = store.tensor == load.tensor and len(store.indices) > 0
            if same and constant(store.indices[-1]) == constant(load.indices[-1]):
                return store.value
        before = before.prev_op
    return None
