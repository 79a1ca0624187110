"""What the Gluon emitter takes: what Triton's does, and the operations of roles."""

from __future__ import annotations

from attndsl.backends.triton.legal import LEGAL as PLAIN
from attndsl.ir import roles
from attndsl.ir.legal import IllegalForm, LegalForms
from attndsl.ir.walks import ROLES_LEVEL
from attndsl.ir.xdsl import Use

INTO_REGISTERS = IllegalForm("that is read into registers", lambda op, axes: not all(map(_multiplies, op.result.uses)))


def _multiplies(use: Use) -> bool:
    return isinstance(use.operation, roles.ProductOp)


LEGAL = LegalForms(
    "gluon",
    {**PLAIN.operations, **dict.fromkeys(ROLES_LEVEL.operations, ()), roles.ViewOp: (INTO_REGISTERS,)},
    PLAIN.types,
)
