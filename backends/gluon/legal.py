"""What the Gluon emitter takes: what Triton's does, and the operations of roles."""

from __future__ import annotations

from attndsl.backends.triton.legal import LEGAL as PLAIN
from attndsl.ir import roles
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import IllegalForm, LegalForms
from attndsl.ir.walks import ROLES_LEVEL
from attndsl.ir.xdsl import Operation, Use


def _multiplies(use: Use) -> bool:
    return isinstance(use.operation, roles.ProductOp)


def _into_registers(op: Operation, axes: AxesAnalysis) -> bool:
    """Whether a view of a tile is read by more than products; numbers of rows are read by threads."""
    return isinstance(op, roles.ViewOp) and len(op.axes) == 2 and not all(map(_multiplies, op.result.uses))


INTO_REGISTERS = IllegalForm("that is read into registers", _into_registers)

LEGAL = LegalForms(
    "gluon",
    {**PLAIN.operations, **dict.fromkeys(ROLES_LEVEL.operations, ()), roles.ViewOp: (INTO_REGISTERS,)},
    PLAIN.types,
)
