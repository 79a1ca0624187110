"""What the Gluon emitter takes: what Triton's does, and the operations of roles."""

from __future__ import annotations

from attndsl.backends.triton.legal import LEGAL as PLAIN
from attndsl.backends.triton.legal import keeps_nothing
from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import IllegalForm, LegalForms
from attndsl.ir.walks import ROLES_LEVEL, RunOp
from attndsl.ir.xdsl import scf


def _does_no_task(op: scf.IfOp, axes: AxesAnalysis) -> bool:
    """Whether it neither keeps states, or computes them anew, nor does what is right, or else a task, nor loads."""
    is_task = not op.results and any(isinstance(each, RunOp) for each in op.false_region.block.ops)
    loads = all(isinstance(region.block.first_op, tile.LoadOp) for region in op.regions)
    return keeps_nothing(op, axes) and not is_task and not loads


LEGAL = LegalForms(
    "gluon",
    {
        **PLAIN.operations,
        **dict.fromkeys(ROLES_LEVEL.operations, ()),
        scf.IfOp: (IllegalForm("that keeps no state, does no task, and does not load", _does_no_task),),
    },
    PLAIN.types,
)
