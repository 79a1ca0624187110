"""Which tiles keep the element type that memory holds them in. An analysis of a `tile` kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import named
from attndsl.ir.xdsl import SSAValue, arith, index

HALVES = ("f16", "bf16")
"""The element types of 16 bits, which matrix units multiply."""


def read_of(value: SSAValue) -> tile.LoadOp | None:
    """The load whose tile a value is, or that a select with 0 elsewhere leaves some of; None where there is none."""
    op = value.owner
    while isinstance(op, arith.SelectOp) and constant(op.rhs) == 0:
        op = op.lhs.owner
    return op if isinstance(op, tile.LoadOp) else None


def held_by(value: SSAValue) -> tile.LoadOp | None:
    """The load whose numbers a tile holds as memory does: a tile as `read_of` has it, or the floats of its integers."""
    op = value.owner
    return read_of(op.operand if isinstance(op, spec.ToFloatOp) else value)


def is_carried(value: SSAValue) -> bool:
    """Whether a loop carries what was read to its next turn."""
    users = [use.operation for use in value.uses]
    return any(
        isinstance(op, tile.RenameAxisOp) or (isinstance(op, tile.LoopOp) and value in op.iter_args) for op in users
    )


@dataclass(frozen=True)
class Stored:
    """The element types of a kernel's tensors, and the tiles that a `tile.kept` names.

    `halves` are those of them that are floats, and the element type of each, `short` the integers.
    """

    elements: Mapping[str, str]
    halves: Mapping[SSAValue, str]
    short: frozenset[SSAValue]

    @classmethod
    def of(cls, kernel: tile.KernelOp) -> Stored:
        """What holds for a kernel, which stands in a module."""
        elements = {t.sym_name.data: t.element.data for t in spec.declarations(kernel, spec.TensorOp)}
        kept: dict[SSAValue, str] = {}
        for value in named(kernel, tile.KeptOp):
            if (load := read_of(value)) is not None:
                kept[value] = elements[load.tensor.string_value()]
        halves = {value: element for value, element in kept.items() if value.type != index}
        return cls(elements, halves, frozenset(kept.keys() - halves.keys()))

    def element(self, op: tile.LoadOp | tile.StoreOp) -> str:
        """The element type of the tensor that is read or written."""
        return self.elements[op.tensor.string_value()]
