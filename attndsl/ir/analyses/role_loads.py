"""What of a turn is no box that can be copied, and a role of its own loads: keys of 8 bits, or biases of scores.

A value is loaded so if nothing that a turn computes or carries leads to it: other roles are ahead, or behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import Side, box_of, tests_place
from attndsl.ir.analyses.role_boxes import box_along, is_masked, is_whole, placing
from attndsl.ir.analyses.role_parts import Box, Loaded, NoRoles, Roled, element_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.rings import BYTES, COPIED, RELAYED
from attndsl.ir.statements import of_kind
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import AnyFloat, Block, Operation, SSAValue, arith

ALONE = (tile.LoadOp, tile.PlaceOp, tile.RangeOp, tile.BroadcastOp, tile.RepeatOp, spec.ToFloatOp)
"""What a role computes with that loads, beside what is done element by element."""


def loads_of(value: SSAValue, loop: tile.LoopOp) -> set[Operation]:
    """The operations of a turn that a value is computed of. Raises NoRoles where those are not only loads."""
    body, found, waiting = loop.body.block, set[Operation](), [value]
    while waiting:
        owner = (each := waiting.pop()).owner
        if isinstance(owner, Block):
            if owner is body and each is not body.args[0]:
                raise NoRoles("what a turn reads rests on what the turn before has made")
        elif owner.parent is body and owner not in found and owner is not loop.outer:
            if not is_elementwise(owner) and not isinstance(owner, ALONE):
                raise NoRoles("what a turn reads rests on what it computes")
            found.add(owner)
            waiting += owner.operands
    return found


def load_tile(value: SSAValue, features: SSAValue, loop: tile.LoopOp) -> Loaded:
    """A tile of keys or values that threads load. Raises NoRoles."""
    if not is_whole(features):
        raise NoRoles("the features of what a product takes are no power of two from 16 to 256 that is known")
    loads_of(value, loop)
    return Loaded(value, features)


def read_beside(found: Roled, axes: AxesAnalysis) -> None:
    """Finds what a turn reads beside keys and values, for its scores or its weights. Raises NoRoles."""
    loop = found.folded
    assert loop.axis is not None
    key, row = loop.axis.result, found.row_axis.result
    for op in reversed(list(of_kind(loop, tile.LoadOp))):
        if op in found.tested | found.placed or any(op.result is each.box.value for each in found.products):
            continue
        if axes(op.result) not in ({key}, {row, key}) or element_of(op.result) not in RELAYED:
            raise NoRoles(f"a turn reads {op.tensor.string_value()}, too")
        if not found.rotates and axes(op.result) != {key}:
            raise NoRoles(f"a turn of several scores reads a tile of {op.tensor.string_value()} beside")
        beside = [_beside(found, op, axes)] if found.rotates else _numbers(op, loop, axes)
        given = {each.value for each in found.beside}
        found.beside = (*(each for each in beside if each.value not in given), *found.beside)
        found.placed = placing(found)  # nor need others what only says where that lies, or what it is computed of


def _beside(found: Roled, load: tile.LoadOp, axes: AxesAnalysis) -> Box | Loaded:
    """What a turn reads for its scores: a box of rows and keys, if it is one, or what threads load. Raises NoRoles."""
    loop, row = found.folded, found.row_axis.result
    assert loop.axis is not None
    key, sides = loop.axis.result, box_of(load, axes) or ()
    along = [n for n, side in enumerate(sides) if side.axis is row]
    if element_of(load.result) in BYTES and along and sides[-1].axis is key and axes(load.result) == {row, key}:
        starts = [value.owner for side in sides for value in side.start if value is not loop.axis.start]
        stays = all(isinstance(op, Block) or op.parent is not loop.body.block for op in starts)
        if stays and _may_be_copied(load, sides, load.result, found, axes):
            return Box(load, along[0], key, sides)
    loads_of(load.result, loop)
    return Loaded(load.result, key)


def _numbers(load: tile.LoadOp, loop: tile.LoopOp, axes: AxesAnalysis) -> list[Loaded]:
    """The numbers of each key that a turn makes of one that it reads, up to where tiles are computed of them."""
    assert loop.axis is not None
    key, ended, waiting = loop.axis.result, list[SSAValue](), list[SSAValue]([load.result])
    while waiting:
        value = waiting.pop()
        users = tile.users(value)
        if all(op.parent is loop.body.block and op.results and axes(op.results[0]) == {key} for op in users):
            waiting += [result for op in users for result in op.results if result not in waiting]
        elif value not in ended:
            ended.append(value)
    if any(not isinstance(value.type, AnyFloat) for value in ended):
        ended = [load.result]
    for value in ended:
        loads_of(value, loop)
    return [Loaded(value, key) for value in ended]


def feed(found: Roled, axes: AxesAnalysis) -> None:
    """Finds what can be copied for the role that loads: integers that become tiles of products.

    Where a key is absent any number may lie there: it is finite, and has no weight.
    """
    loop = found.folded
    assert loop.axis is not None
    key, fed = loop.axis.result, list[Box]()
    tiles = [each.value for each in found.tiles if isinstance(each, Loaded) and each.features is not key]
    for load in (op for value in tiles for op in loads_of(value, loop) if isinstance(op, tile.LoadOp)):
        if element_of(load.result) not in COPIED.keys() - BYTES.keys() or any(load is box.load for box in fed):
            continue
        try:
            box = box_along(load, load.result, key, axes)
        except NoRoles:
            continue
        numbers = all(isinstance(op, spec.ToFloatOp) for op in tile.users(load.result))
        absent = all(_may_be_copied(load, box.sides, score, found, axes) for score in found.scores)
        if not box.block and box.end is None and absent and numbers:
            fed.append(box)
    found.fed = tuple(fed)


def _may_be_copied(
    load: tile.LoadOp, sides: Sequence[Side], masked: SSAValue, found: Roled, axes: AxesAnalysis
) -> bool:
    """Whether a box may be copied whole: what it holds of keys that are not read changes nothing.

    What lies outside of the tensor is copied as 0, and else what is `masked` has no weight where a key is absent.
    """
    assert found.folded.axis is not None
    pairs = list(zip(sides, spec.enclosing_tensor(load, load.tensor.string_value()).shape, strict=True))
    others = list[SSAValue]()
    for where in conjuncts(load.where):
        test = where.owner
        if not isinstance(test, arith.CmpiOp) or not any(tests_place(test, *pair, axes) for pair in pairs):
            others.append(where)
    key = found.folded.axis.result
    return not others or (all(axes(where) == {key} for where in others) and is_masked(masked, found))


def tensors_of(found: Roled) -> list[str]:
    """What the role that loads makes tiles of, in order; none where there is no such role."""
    loads = [op for value in found.loaded for op in loads_of(value, found.folded) if isinstance(op, tile.LoadOp)]
    return sorted({load.tensor.string_value() for load in loads})


def through_registers(found: Roled, values: Iterable[SSAValue]) -> bool:
    """Whether threads read tiles from memory for some values: not what is copied for them, nor a number of each key."""
    axes, fed = AxesAnalysis(), [box.load for box in found.fed]
    loaded = [value for value in values if any(value is each for each in found.loaded)]
    loads = (op for value in loaded for op in loads_of(value, found.folded) if isinstance(op, tile.LoadOp))
    return any(load not in fed and len(axes(load.result)) == 2 for load in loads)


def loaded_axes(found: Roled, axes: AxesAnalysis) -> set[Axes]:
    """The axes of all that is computed for what threads load."""
    made = set[Operation]().union(*(loads_of(value, found.folded) for value in found.loaded))
    return {axes(result) for op in made for result in op.results}
