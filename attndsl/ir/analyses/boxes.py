"""What of a tensor a load reads where that is a box: consecutive places along some of its axes. An analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import Block, SSAValue, arith

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

    @property
    def is_row(self) -> bool:
        """Whether it has a place for several rows, with the first of which it begins."""
        return self.axis is not None and dict(self.start) == {self.axis: 1}


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


class Heads(NamedTuple):
    """How rows lie that are packed: `pack` heads beside one another `across` an axis, for each place along another."""

    across: int
    pack: SSAValue


def in_packs(
    op: tile.LoadOp | tile.StoreOp, row: SSAValue, axes: AxesAnalysis
) -> tuple[tuple[Side, ...], Heads] | None:
    """The sides of what a load reads, or a store writes, of packed rows, and how these lie; None of others.

    Along the axis of places a side begins with the first row, and has a place for each `pack` rows.
    """
    sides, across, packs = list[Side](), list[int](), list[SSAValue]()
    for n, index in enumerate(op.indices):
        place, side = _bare(index).owner, _side(index, axes)
        if (found := _place_of(index, row, axes)) is not None:
            start, pack = found
            side = Side({row: 1, **start}, row)
            packs.append(pack)
        within = place.rhs.owner if isinstance(place, arith.AddiOp) and not axes(place.lhs) else None
        if isinstance(place, arith.AddiOp) and isinstance(within, spec.ModOp) and within.lhs is row:
            side = Side({place.lhs: 1}, None)
            across.append(n)
            packs.append(within.rhs)
        if side is None:
            return None
        sides.append(side)
    tiled = op.result if isinstance(op, tile.LoadOp) else op.value
    if len(across) != 1 or len(packs) != 2 or len({*packs}) != 1 or not isinstance(packs[0].owner, tile.PackOp):
        return None
    along = [side.axis for side in sides if side.axis is not None]
    whole = len(set(along)) == len(along) and set(along) == axes(tiled) and len(sides) <= MOST_AXES
    whole = whole and sides[-1].axis not in (None, row)
    return (tuple(sides), Heads(across[0], packs[0])) if whole else None


def _place_of(index: SSAValue, row: SSAValue, axes: AxesAnalysis) -> tuple[dict[SSAValue, int], SSAValue] | None:
    """What is added to the place of a row that is packed, and how many heads are; None of other indices."""
    op = _bare(index).owner
    match op:
        case arith.FloorDivSIOp() if op.lhs is row:
            return {}, op.rhs
        case arith.AddiOp():
            moved, along = (op.lhs, op.rhs) if not axes(op.lhs) else (op.rhs, op.lhs)
            found = None if axes(moved) else _place_of(along, row, axes)
            return None if found is None else ({**found[0], moved: found[0].get(moved, 0) + 1}, found[1])
    return None


def lies_inside(op: tile.LoadOp | tile.StoreOp, box: tuple[Side, ...], heads: Heads | None = None) -> bool:
    """Whether the condition, where there is one, holds just for what of the box lies in the tensor.

    Places outside of a tensor are read as 0, and not written. Of packed rows there are so many for each place.
    """
    shape = enclosing_tensor(op, op.tensor.string_value()).shape
    ends = {side.axis: extent for side, extent in zip(box, shape, strict=True) if side.begins_at_axis}
    rows = {side.axis: extent for side, extent in zip(box, shape, strict=True) if heads and side.is_row}
    for condition in conjuncts(op.where):
        test = condition.owner
        if not isinstance(test, arith.CmpiOp):
            return False
        axis, end = (test.lhs, test.rhs) if predicate(test) == "slt" else (test.rhs, test.lhs)
        if predicate(test) not in ("slt", "sgt"):
            return False
        if heads is not None and axis in rows and isinstance(product := end.owner, arith.MuliOp):
            places = [value for value in product.operands if value is not heads.pack]
            if len(places) != 1 or not is_extent(places[0], rows[axis]):
                return False
        elif axis not in ends or not is_extent(end, ends[axis]):
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
        return constant(less) == 0 and _tells(more, side, axes)
    return is_extent(more, extent) and _tells(less, side, axes)


def _tells(index: SSAValue, side: Side, axes: AxesAnalysis) -> bool:
    """Whether an index tells a side."""
    return _side(index, axes) == side or (side.axis is None and dict(side.start) == {index: 1})


def in_blocks(op: tile.LoadOp, key: SSAValue, axes: AxesAnalysis) -> tuple[tuple[Side, ...], int] | None:
    """What a load reads of a block of keys where that is a box, and how many keys a block has; else None.

    A block begins at a multiple of its keys. Where its sides start is what indices are at its first key.
    """
    sides, size = list[Side](), 0
    for place in op.indices:
        side = _side(place, axes)
        if side is None or (side.axis is None and key in axes(place)):
            found = _in_block(place, key, axes)
            if found is None or axes(place) != {key}:
                return None
            steps, keys = found
            size = gcd(size, keys)
            side = Side({_bare(place): 1}, key if steps else None)
        sides.append(side)
    along = [side.axis for side in sides if side.axis is not None]
    whole = len(set(along)) == len(along) and set(along) == axes(op.result) and len(sides) <= MOST_AXES
    return (tuple(sides), size) if size and whole and sides[-1].axis not in (None, key) else None


def _in_block(index: SSAValue, key: SSAValue, axes: AxesAnalysis) -> tuple[bool, int] | None:
    """Whether an index goes from key to key in steps of one, or is the same, within a block of so many; else None.

    0 stands for all keys. Which keys a load asks for may differ: those that it does not, no row sees.
    """
    if index is key:
        return True, 0
    if key not in axes(index):
        return False, 0
    op = index.owner
    match op:
        case arith.FloorDivSIOp() | spec.ModOp() if op.lhs is key and (constant(op.rhs) or 0) > 0:
            return isinstance(op, spec.ModOp), int(constant(op.rhs) or 0)
        case tile.PlaceOp() if len(op.near) == 1 and not op.axes and not op.counted:
            return _in_block(op.near[0], key, axes)
        case tile.RenameAxisOp() if isinstance(turn := op.value.owner, Block):
            # What a turn reads for the next one lies as what is read before the first one does.
            loop = turn.parent_op()
            start = loop.iter_args[turn.args.index(op.value) - 1] if isinstance(loop, tile.LoopOp) else None
            return None if start is None else _in_block(start, op.old, axes)
        case tile.LoadOp() | arith.AddiOp() | arith.MuliOp():
            parts = op.indices if isinstance(op, tile.LoadOp) else op.operands
            found = [_in_block(each, key, axes) for each in parts]
            steps = [each is None or each[0] for each in found]
            if sum(steps) > isinstance(op, arith.AddiOp) or None in found:
                return None
            return any(steps), gcd(*(each[1] for each in found if each is not None))
    return None


def _bare(place: SSAValue) -> SSAValue:
    """An index that is said to be near one other, and to be nothing besides: that other one."""
    match place.owner:
        case tile.PlaceOp(near=near) as op if len(near) == 1 and not op.axes and not op.counted:
            return near[0]
    return place


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
