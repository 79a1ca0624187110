"""What is the same for a whole block of an axis, as what is computed of a quotient of its index is. An analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.xdsl import Operation, SSAValue


@dataclass(frozen=True)
class Shared:
    """Operations, in order, whose results vary along an axis as a quotient of it does; which results rest on a read."""

    operations: tuple[Operation, ...]
    values: frozenset[SSAValue]
    read: frozenset[SSAValue]


def shared_in_blocks(
    operations: Iterable[Operation], axis: SSAValue, is_quotient: Callable[[Operation], bool]
) -> Shared:
    """What some operations compute of those quotients of an axis, and of nothing else that varies along it."""
    axes = AxesAnalysis()
    shared: list[Operation] = []
    values, read = set[SSAValue](), set[SSAValue]()
    for op in operations:
        if is_quotient(op) or _is_computed_of(op, axis, values, axes):
            shared.append(op)
            values.update(op.results)
            if isinstance(op, tile.LoadOp) or not read.isdisjoint(op.operands):
                read.update(op.results)
    return Shared(tuple(shared), frozenset(values), frozenset(read))


def _is_computed_of(op: Operation, axis: SSAValue, values: set[SSAValue], axes: AxesAnalysis) -> bool:
    """Whether what an operation gives varies along an axis as `values` do, and no more.

    What is computed with values of further axes is larger than they are: of these each is laid out first, and small.
    """
    if not (isinstance(op, tile.LoadOp) or is_elementwise(op)):
        return False
    varying = [operand for operand in op.operands if axis in axes(operand)]
    if not varying or not values.issuperset(varying):
        return False
    return isinstance(op, tile.LoadOp) or any(axes(op.results[0]) == axes(operand) for operand in varying)
