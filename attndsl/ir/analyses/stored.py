"""Which tiles keep the width that memory holds their elements in. An analysis of a `tile` kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.widths import is_short
from attndsl.ir.ranges import is_identity
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Operation, SSAValue, arith

HALVES = ("f16", "bf16")
"""The element types of 16 bits, which a matrix unit multiplies fast."""


@dataclass(frozen=True)
class Stored:
    """What a kernel leaves as it was read, and what it rounds to.

    `elements` are the element types of tensors; `halves` the values of 16 bits, since products of such tiles are made
    of them, and their types; `short` the integers of 32 bits, which are only compared; `rounds_to_f16` says whether the
    kernel writes f16.
    """

    elements: Mapping[str, str]
    halves: Mapping[SSAValue, str]
    short: frozenset[SSAValue]
    rounds_to_f16: bool

    @classmethod
    def of(cls, kernel: tile.KernelOp) -> Stored:
        """What holds for a kernel, which stands in a module."""
        elements = {t.sym_name.data: t.element.data for t in spec.declarations(kernel, spec.TensorOp)}
        halves: dict[SSAValue, str] = {}
        short: set[SSAValue] = set()
        rounds = False
        for op in kernel.walk():
            match op:
                case tile.LoadOp():
                    element = elements[op.tensor.string_value()]
                    if element in HALVES:
                        _keep_half(op.result, element, halves)
                    elif element == "i32" and all(map(_compares, tile.users(op.result))):
                        short.add(op.result)
                case tile.StoreOp():
                    rounds |= elements[op.tensor.string_value()] == "f16"
        return cls(elements, halves, frozenset(short), rounds)

    def element(self, op: tile.LoadOp | tile.StoreOp) -> str:
        """The element type of the tensor that is read or written."""
        return self.elements[op.tensor.string_value()]


def _keep_half(value: SSAValue, element: str, halves: dict[SSAValue, str]) -> bool:
    """Notes a value in `halves` where a product of its type is made of it, be it selected; says whether it did."""
    found = False
    for user in tile.users(value):
        match user:
            case tile.DotOp() if user.rounded is not None and user.rounded.data == element:
                found = True
            case arith.SelectOp() if value is user.lhs and constant(user.rhs) == 0:
                found |= _keep_half(user.result, element, halves)
    if found:
        halves[value] = element
    return found


def _compares(op: Operation) -> bool:
    """Whether an operation takes integers of 32 bits: it compares them, or leaves some out of a least or largest."""
    if isinstance(op, arith.CmpiOp):
        return all(map(is_short, op.operands))
    return any(is_identity(value, op) for value in op.operands)
