"""What the Gluon emitter takes: what Triton's does, and the operations of roles."""

from __future__ import annotations

from attndsl.backends.triton.legal import LEGAL as PLAIN
from attndsl.backends.triton.legal import keeps_nothing
from attndsl.ir import roles
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import IllegalForm, LegalForms
from attndsl.ir.walks import ROLES_LEVEL, RunOp
from attndsl.ir.xdsl import Operation, Use, scf


def _multiplies(use: Use) -> bool:
    return isinstance(use.operation, roles.ProductOp)


def _into_registers(op: Operation, axes: AxesAnalysis) -> bool:
    """Whether a view of a tile is read by more than products; numbers of rows are read by threads."""
    return isinstance(op, roles.ViewOp) and len(op.axes) == 2 and not all(map(_multiplies, op.result.uses))


def _does_no_task(op: scf.IfOp, axes: AxesAnalysis) -> bool:
    """Whether it neither keeps states, or computes them anew, nor does what is right, or else a task."""
    is_task = not op.results and any(isinstance(each, RunOp) for each in op.false_region.block.ops)
    return keeps_nothing(op, axes) and not is_task


INTO_REGISTERS = IllegalForm("that is read into registers", _into_registers)

LEGAL = LegalForms(
    "gluon",
    {
        **PLAIN.operations,
        **dict.fromkeys(ROLES_LEVEL.operations, ()),
        roles.ViewOp: (INTO_REGISTERS,),
        scf.IfOp: (IllegalForm("that keeps no state, and does no task", _does_no_task),),
    },
    PLAIN.types,
)
