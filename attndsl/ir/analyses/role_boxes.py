"""Which loads and stores of a kernel are boxes that a role copies, and what of a turn only says where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd
from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import box_of, in_blocks, in_packs, is_extent, lies_inside, tests_place
from attndsl.ir.analyses.facts import is_multiple
from attndsl.ir.analyses.role_parts import Box, NoBox, NoRoles, Roled
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import is_elementwise, predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import BYTES
from attndsl.ir.statements import named, operations
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith

LONGEST_FEATURES = 256
"""The widest box, and the widest product."""

LEAST_PIECE = 16
"""The least keys that are copied by themselves."""


def box_read(kernel: tile.KernelOp, load: tile.LoadOp, key: SSAValue, element: str, axes: AxesAnalysis) -> Box:
    """A load as a box."""
    name = load.tensor.string_value()
    tensor = spec.enclosing_tensor(kernel, name)
    if tensor.element.data != element or load.result not in named(kernel, tile.KeptOp):
        raise NoBox(load, f"{name} is of {tensor.element.data}, and multiplied as {element}")
    return box_along(load, load.result, key, axes)


def box_along(op: tile.LoadOp | tile.StoreOp, tiled: SSAValue, key: SSAValue, axes: AxesAnalysis) -> Box:
    """A load, or a store, of a tile as a box, along an axis of keys or of rows."""
    name, sides = op.tensor.string_value(), box_of(op, axes)
    loop, block, heads = op.parent_op(), 0, None
    if sides is None and (packed := in_packs(op, key, axes)) is not None:
        sides, heads = packed
    if sides is None and isinstance(op, tile.LoadOp) and isinstance(loop, tile.LoopOp):
        sides, block = in_blocks(op, key, axes) or (None, 0)
    along = [n for n, side in enumerate(sides or ()) if side.axis is key]
    features = sides[-1].axis if sides is not None else None
    if sides is None or len(along) != 1 or features is None or features is key:
        raise NoBox(
            op, f"keys of {name} are no box: they lie along one axis of it, one by one, and features along the last"
        )
    if axes(tiled) != {key, features}:
        raise NoBox(op, f"keys of {name} are no box: another index differs within a tile")
    if isinstance(loop, tile.LoopOp) and not block:
        others = [value for n, side in enumerate(sides) if n != along[0] for value in side.start]
        if any(_changes(loop, value) for value in others):
            block = _divides(loop)
            if not block:
                raise NoBox(op, f"keys of {name} are no box: where else they lie changes from turn to turn")
    if not is_whole(features):
        raise NoRoles(f"the features of {name} are no power of two from 16 to {LONGEST_FEATURES} that is known")
    end = _end(op, features, axes)
    if end is not None and any(constant(value) is None for value in sides[-1].start):
        raise NoRoles(f"the features of {name} are padded, and no number says where they end")
    box = Box(op, along[0], features, sides, block=block, heads=heads)
    if block and end is not None:
        raise NoRoles(f"the features of {name} are padded, and where its keys lie changes from turn to turn")
    return box if end is None else replace(box, end=box.first + end)


def _changes(loop: tile.LoopOp, value: SSAValue) -> bool:
    """Whether a value changes from turn to turn of a loop, but for what is computed of an outer loop's alone."""
    op = value.owner
    if isinstance(op, Block):
        return op is loop.body.block
    if op.parent is not loop.body.block or op is loop.outer:
        return False
    return isinstance(op, tile.LoadOp) or any(_changes(loop, each) for each in op.operands)


def _divides(loop: tile.LoopOp) -> int:
    """What the keys of a loop's tiles divide, each of which lies in one block of so many; 0 where that is nothing."""
    choice = loop.step.owner
    return choice.divides.value.data if isinstance(choice, spec.ChoiceOp) and choice.divides is not None else 0


def absent_where(found: Roled, axes: AxesAnalysis) -> Iterator[SSAValue]:
    """The conditions that are false where all blocks of values lie outside of their tensors.

    Of other boxes NaN may not be copied: one that is right ends behind its tensor, too.
    """
    if not all(isinstance(each.box, Box) and each.box.block for each in found.summing):
        return
    for loop in found.loops:
        assert loop.axis is not None
        weighted = [op for op in loop.body.block.ops if isinstance(op, tile.DotOp) and op.over is loop.axis.result]
        read = [value.owner for op in weighted for value in (op.lhs, op.rhs)]
        outside = [set(_outside(load, loop.axis.result, axes)) for load in read if isinstance(load, tile.LoadOp)]
        yield from set[SSAValue].intersection(*outside) if outside else ()


def _outside(load: tile.LoadOp, key: SSAValue, axes: AxesAnalysis) -> Iterator[SSAValue]:
    """The conditions that are false where a box, or a block of it, lies outside of its tensor as a whole."""
    shape = spec.enclosing_tensor(load, load.tensor.string_value()).shape
    sides, _ = in_blocks(load, key, axes) or (box_of(load, axes) or (), 0)
    pairs = [pair for pair in zip(sides, shape, strict=False) if pair[0].axis is None]
    for where in conjuncts(load.where):
        test = where.owner
        if isinstance(test, arith.CmpiOp) and any(tests_place(test, *pair, axes) for pair in pairs):
            yield where


def placing(found: Roled) -> frozenset[Operation]:
    """The operations of a turn that only say where boxes lie, or that these lie in their tensors."""
    loop, given = found.folded, {each.value.owner for each in found.tiles}
    needed: set[Operation | Block] = set()
    waiting: list[Operation | Block] = [
        loop.end,
        *(op for op in loop.body.block.ops if isinstance(op, tile.STATEMENTS)),
    ]
    assert loop.axis is not None
    needed.update(waiting)
    needed.update([] if loop.outer is None else [loop.outer])
    waiting = [loop.axis, *(value.owner for value in loop.end.operands), *(each.dot for each in found.adding)]
    needed.update(each.store for each in found.adding)
    while waiting:
        op = waiting.pop()
        if not isinstance(op, Operation) or op in needed or op.parent is not loop.body.block:
            continue
        needed.add(op)
        values = [] if op in given else list(op.operands)
        if isinstance(op, arith.SelectOp) and op not in given:
            values = [op.lhs, op.rhs, *found.asked(op.cond)]
        waiting += [value.owner for value in values]
    return frozenset(op for op in loop.body.block.ops if op not in needed)


def block_of(found: Roled, axes: AxesAnalysis) -> int:
    """The keys of a block, within which a turn is right for any number of keys, where boxes move; else 0.

    A tile with roles may have several blocks. What is made of its scores must not know in which one a key lies.
    """
    loop, size = found.folded, gcd(*(box.block for box in found.boxes))
    if not size:
        return 0
    assert loop.axis is not None
    if found.loaded or found.beside:
        raise NoRoles("where keys lie changes from turn to turn, and a turn reads more")
    if size % LEAST_PIECE:
        raise NoRoles(f"fewer than {LEAST_PIECE} keys lie side by side")
    if not all(each.axis is not None and is_multiple(each.axis.start, each.step) for each in found.loops):
        raise NoRoles("tiles of keys begin within blocks of them")
    if loop.axis.start is not loop.body.block.args[0] and left_out_of(loop) is None:
        raise NoRoles("tiles of keys begin elsewhere than a loop counts them")
    begins = {loop.body.block.args[0]}
    for op in loop.body.block.ops:
        if op is loop.axis or op in found.placed or op is loop.end or isinstance(op, tile.STATEMENTS):
            continue
        if any(op is box.load for box in found.boxes) or begins.isdisjoint(op.operands):
            continue
        if any(axes(result) for result in op.results):
            raise NoRoles("what is made of scores rests on the block that their keys lie in")
        begins.update(op.results)
    return size


def left_out_of(loop: tile.LoopOp) -> SSAValue | None:
    """How many keys a loop leaves out that goes on behind those of another; None where it walks all, one by one.

    The loop over mixed tiles counts those before full ones, and then those behind, as if full ones were not there.
    """
    assert loop.axis is not None
    start, counted = loop.axis.start.owner, loop.body.block.args[0]
    if (
        not isinstance(start, arith.SelectOp)
        or start.lhs is not counted
        or not isinstance(start.rhs.owner, arith.AddiOp)
    ):
        return None
    return start.rhs.owner.rhs if start.rhs.owner.lhs is counted else None


def _end(op: tile.LoadOp | tile.StoreOp, features: SSAValue, axes: AxesAnalysis) -> int | None:
    """How many features are read, or written, of a tile that has more."""
    ends = set[int]()
    for condition in (each for each in conjuncts(op.where) if features in axes(each)):
        test = condition.owner
        least = isinstance(test, arith.CmpiOp) and predicate(test) == "slt" and test.lhs is features
        end = constant(test.rhs) if isinstance(test, arith.CmpiOp) and least else None
        if end is None:
            raise NoRoles(f"which features of {op.tensor.string_value()} are read rests on more than their number")
        ends.add(int(end))
    return min(ends, default=None)


def is_masked(value: SSAValue, found: Roled) -> bool:
    """Whether all that is made of a value is masked before it is summed up: then it may be any where no key is."""
    waiting = [value]
    while waiting:
        for op in tile.users(each := waiting.pop()):
            if op in found.masks and isinstance(op, arith.SelectOp) and each is op.lhs:
                continue
            if not is_elementwise(op):
                return False
            waiting += op.results
    return True


class RowsEnd(NamedTuple):
    """Where data say which rows of a box are written: those before `row`, at places of their axis before `place`."""

    row: SSAValue
    place: SSAValue


class Put(NamedTuple):
    """A store as a box, of which all is written that lies in the tensor, or the rows before an end alone."""

    box: Box
    end: RowsEnd | None


def put_of(store: tile.StoreOp, row: SSAValue, axes: AxesAnalysis) -> Put | None:
    """The box that a store writes for the rows of a tile; None where it writes none, or adds, or not 16 bits.

    Where data say where rows end, others in the box are those of other tiles, and not written.
    """
    tensor = spec.enclosing_tensor(store, store.tensor.string_value())
    if store.adds is not None or tensor.element.data not in BYTES or row not in axes(store.value):
        return None
    if (box := _stored(store, row, axes)) is None:
        return None
    if lies_inside(store, box.sides, box.heads):
        return Put(box, None)
    end = _rows_end(store, box, row, axes)
    return None if end is None else Put(box, end)


def _rows_end(store: tile.StoreOp, box: Box, row: SSAValue, axes: AxesAnalysis) -> RowsEnd | None:
    """Where the rows end that are written; None where that is not all that is asked, or not asked."""
    extent = spec.enclosing_tensor(store, store.tensor.string_value()).shape[box.along]
    rows, places = list[SSAValue](), list[SSAValue]()
    for condition in conjuncts(store.where):
        test = condition.owner
        if not isinstance(test, arith.CmpiOp):
            return None
        less, more = (test.lhs, test.rhs) if predicate(test) in ("sle", "slt") else (test.rhs, test.lhs)
        if _is_place(condition, box, extent, axes):
            places += [more] if is_extent(more, extent) else []
        elif less is row and not axes(more) and predicate(test) in ("slt", "sgt"):
            rows.append(more)
        else:
            return None
    return RowsEnd(rows[0], places[0]) if len(rows) == 1 and places else None


def added_to(store: tile.StoreOp, key: SSAValue, axes: AxesAnalysis) -> Box | None:
    """The box to which a store adds for the keys of a turn; None where it adds to none, or not 32 bits."""
    tensor = spec.enclosing_tensor(store, store.tensor.string_value())
    box = None if store.adds is None or tensor.element.data != "f32" else _stored(store, key, axes)
    return box if box is not None and lies_inside(store, box.sides, box.heads) else None


def _stored(store: tile.StoreOp, tiled: SSAValue, axes: AxesAnalysis) -> Box | None:
    """The box that a store means, along an axis of keys or of rows; None where it is none."""
    try:
        return box_along(store, store.value, tiled, axes)
    except NoRoles:
        return None


def is_apart(box: Box, row: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether what a box reads of rows that are not asked for changes nothing.

    Where a load asks for none it gives 0, and so it is outside of the tensor. What sums up rows, such as a test whether
    all are finite, leaves other rows out, and so does what is stored.
    """
    kernel, load = box.load.parent_op(), box.load
    assert isinstance(kernel, tile.KernelOp)
    extent = spec.enclosing_tensor(load, load.tensor.string_value()).shape[box.along]
    left_out = [each for each in conjuncts(load.where) if not _is_place(each, box, extent, axes)]
    for op in operations(kernel):
        if isinstance(op, tile.DotOp) and op.over is row:
            return False
        if isinstance(op, tile.ReduceOp) and op.over is row:
            chosen = op.body.owner
            if not isinstance(chosen, arith.SelectOp) or not {*left_out} <= {*conjuncts(chosen.cond)}:
                return False
        if isinstance(op, tile.StoreOp) and row in axes(op.value) and not {*left_out} <= {*conjuncts(op.where)}:
            return False
    return all(axes(each) <= {row} for each in left_out)


def _is_place(where: SSAValue, box: Box, extent: object, axes: AxesAnalysis) -> bool:
    """Whether a condition is that rows of a box lie in its tensor."""
    test, place = where.owner, box.op.indices[box.along]
    if not isinstance(test, arith.CmpiOp):
        return False
    less, more = (test.lhs, test.rhs) if predicate(test) in ("sle", "slt") else (test.rhs, test.lhs)
    strict = predicate(test) in ("slt", "sgt")
    if predicate(test) in ("sle", "sge", "slt", "sgt") and place in (less, more):
        return (place is less and is_extent(more, extent)) if strict else (place is more and constant(less) == 0)
    return tests_place(test, box.sides[box.along], extent, axes)


def is_whole(feature: SSAValue) -> bool:
    """Whether an axis of features has a size that a box and a product have."""
    axis = feature.owner
    size = constant(axis.size) if isinstance(axis, tile.RangeOp) else None
    return size is not None and 16 <= size <= LONGEST_FEATURES and int(size).bit_count() == 1


def hold_guarded(found: Roled, slow: bool, axes: AxesAnalysis) -> None:
    """Holds that what a box reads beyond the keys of a tile changes nothing.

    A box ends where its tensor does, and not where keys do. What it holds of others has no weight; where memory may
    hold NaN there, a `slow` path finds it out afterwards. Without one, keys must end where the tensor does, or all
    at once: then values behind that are cleared.
    """
    assert found.folded.axis is not None
    key, summed = found.folded.axis.result, {each.box.value for each in found.summing}
    for box in {box.load: box for box in found.boxes}.values():
        name = box.load.tensor.string_value()
        for where in (each for each in conjuncts(box.load.where) if box.features not in axes(each)):
            test, extent = where.owner, spec.enclosing_tensor(box.load, name).shape[box.along]
            if where in found.absent:
                continue  # NaN is copied
            if isinstance(test, arith.CmpiOp) and tests_place(test, box.sides[box.along], extent, axes):
                continue  # what lies outside of a tensor is copied as 0, or has no weight
            if not isinstance(test, arith.CmpiOp) or axes(where) != {key} or key not in test.operands:
                raise NoBox(box.load, f"whether a key of {name} is read rests on more than its place")
            end = test.lhs if test.rhs is key else test.rhs
            if slow or (isinstance(end.owner, spec.DimOp) and extent == ("dim", end.owner.dim.data)):
                continue
            least = (test.lhs if predicate(test) == "slt" else test.rhs) is key and predicate(test) in ("slt", "sgt")
            known = isinstance(end.owner, Block) or end.owner.parent is not found.folded.body.block
            masked = all(is_masked(score, found) for score in found.scores)
            if least and known and masked and box.load not in found.ends:
                if box.value in summed:
                    found.ends[box.load] = end
            else:
                raise NoBox(
                    box.load, f"keys of {name} end before the tensor does, and nothing looks for NaN behind them"
                )
