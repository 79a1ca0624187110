"""What of a tensor a load reads where that is a box: consecutive places along some of its axes. An analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import SSAValue, arith

MOST_AXES = 5
"""The axes of a tensor that a box has at most (CUDA Driver API, cuTensorMapEncodeTiled)."""


class Side(NamedTuple):
    """A box along one axis of its tensor: the places of `axis`, or a single one, from the sum of `start` on.

    `start` says how often each integer counts.
    """

    start: Mapping[SSAValue, int]
    axis: SSAValue | None

    @property
    def size(self) -> SSAValue | None:
        """How many places its axis has; None where it is a single place."""
        return self.axis.owner.size if self.axis is not None and isinstance(self.axis.owner, tile.RangeOp) else None

    @property
    def begins_at_axis(self) -> bool:
        """Whether its places are the values of its axis."""
        axis = self.axis.owner if self.axis is not None else None
        return isinstance(axis, tile.RangeOp) and dict(self.start) == {axis.start: 1}


def box_of(op: tile.LoadOp | tile.StoreOp, axes: AxesAnalysis) -> tuple[Side, ...] | None:
    """The box that a load reads, or a store writes, a side for each axis of the tensor; None where that is none.

    The last axis is one of the tile: of it a box has some places, of which a GPU copies 16 bytes at least. Truth values
    are in none: Triton takes them to have one bit, and a row of them no bytes.
    """
    if enclosing_tensor(op, op.tensor.string_value()).element.data == "bool":
        return None
    sides = [_side(index, axes) for index in op.indices]
    found = tuple(side for side in sides if side is not None)
    along = [side.axis for side in found if side.axis is not None]
    if len(found) < len(sides) or not 0 < len(found) <= MOST_AXES or found[-1].axis is None:
        return None
    tiled = op.result if isinstance(op, tile.LoadOp) else op.value
    return found if len(set(along)) == len(along) and set(along) == axes(tiled) else None


def lies_inside(op: tile.LoadOp | tile.StoreOp, box: tuple[Side, ...]) -> bool:
    """Whether the condition, where there is one, holds just for what of the box lies in the tensor.

    Places outside of a tensor are read as 0, and not written.
    """
    shape = enclosing_tensor(op, op.tensor.string_value()).shape
    ends = {side.axis: extent for side, extent in zip(box, shape, strict=True) if side.begins_at_axis}
    for condition in conjuncts(op.where):
        test = condition.owner
        if not isinstance(test, arith.CmpiOp):
            return False
        axis, end = (test.lhs, test.rhs) if predicate(test) == "slt" else (test.rhs, test.lhs)
        if predicate(test) not in ("slt", "sgt") or axis not in ends or not is_extent(end, ends[axis]):
            return False
    return True


def tests_place(test: arith.CmpiOp, side: Side, extent: object, axes: AxesAnalysis) -> bool:
    """Whether a condition is that the places of a side are no less than 0, or less than the extent of its axis."""
    less, more = test.lhs, test.rhs
    match predicate(test):
        case "sge" | "sgt":
            less, more = more, less
        case "sle" | "slt":
            pass
        case _:
            return False
    if predicate(test) in ("sle", "sge"):
        return constant(less) == 0 and _side(more, axes) == side
    return is_extent(more, extent) and _side(less, axes) == side


def is_extent(value: SSAValue, extent: object) -> bool:
    """Whether a value is an extent of a tensor that is a dim, or a number."""
    if isinstance(value.owner, spec.DimOp):
        return extent == ("dim", value.owner.dim.data)
    known = constant(value)
    return known is not None and extent == known


def _side(index: SSAValue, axes: AxesAnalysis) -> Side | None:
    """What of an axis of a tensor an index tells; None where that is not consecutive places."""
    if not axes(index):
        return Side({index: 1}, None)
    op = index.owner
    match op:
        case tile.RangeOp():
            return Side({op.start: 1}, index)
        case tile.PlaceOp():
            return _of_place(op, axes)
        case arith.AddiOp():
            moved, along = (op.lhs, op.rhs) if not axes(op.lhs) else (op.rhs, op.lhs)
            side = _side(along, axes)
            if side is None or axes(moved):
                return None
            start = Counter(side.start)
            start[moved] += 1
            return Side(start, side.axis)
    return None


def _of_place(op: tile.PlaceOp, axes: AxesAnalysis) -> Side | None:
    """What a place tells: one axis, which is added from its start, or one that is near."""
    start = Counter(op.counted)
    if len(op.axes) == 1 and not op.near:
        return Side(start, op.axes[0])
    near = _side(op.near[0], axes) if len(op.near) == 1 and not op.axes else None
    if near is None:
        return None
    start.update(near.start)
    return Side(start, near.axis)
