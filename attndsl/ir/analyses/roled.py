"""Whether the warps of a `tile` kernel can have roles, and what each would do. An analysis; refusals are in words.

Taken is a kernel that folds tiles of keys in one loop, or in one over full tiles and one over mixed ones, whose turn is
products of two kinds with arithmetic between: that of a tile of queries with one of keys, and that of what is made of
it with a tile of values, which is added to what the loop carries. Keys and values are boxes of their tensors. Where
features are cut into pieces, each has its products: scores are a sum of them, and the loop carries a sum for each piece
of values. A turn may have several tiles of scores, and of weights, as those of gradients have: then all that it reads
is boxes, and numbers of each key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import lies_inside
from attndsl.ir.analyses.role_boxes import (
    absent_where,
    added_to,
    block_of,
    box_read,
    hold_guarded,
    is_apart,
    placing,
)
from attndsl.ir.analyses.role_loads import feed, load_tile, loaded_axes, read_beside
from attndsl.ir.analyses.role_loops import FullAndMixed
from attndsl.ir.analyses.role_parts import AddedUp, Box, Loaded, NoBox, NoRoles, Roled, Scored, Summed
from attndsl.ir.analyses.role_room import choose_tiles
from attndsl.ir.analyses.role_shares import handed_on
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import made_of
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import BYTES
from attndsl.ir.statements import operations
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, scf


def roled(kernel: tile.KernelOp) -> Roled:
    """The roles that the warps of a kernel can have. Raises NoRoles.

    What turns out to be no box that can be copied is left to a role that loads.
    """
    apart: set[Operation] = set()
    while True:
        try:
            return _roled(kernel, apart)
        except NoBox as reason:
            if reason.load in apart:
                raise
            apart.add(reason.load)


def _roled(kernel: tile.KernelOp, apart: set[Operation]) -> Roled:
    """The roles that the warps of a kernel can have, where some loads are apart from what is copied."""
    form = "whole" if kernel.form is None and kernel.instead is not None else kernel.form and kernel.form.data
    if form is None or kernel.with_roles or kernel.when is not None or kernel.unless is not None:
        raise NoRoles("it is no kernel that folds keys")
    block, axes = kernel.body.block, AxesAnalysis()
    loops = tuple(op for op in block.ops if isinstance(op, tile.LoopOp))
    rows, row_axis = _rows(block)
    if not 1 <= len(loops) <= 2 or (len(loops) == 2 and not (loops[0].is_full and loops[1].is_mixed)):
        raise NoRoles("a row walks its keys in several loops, or data are looked through for where keys lie")
    if len(loops) == 2 and loops[1].iter_args != loops[0].results[: len(loops[1].iter_args)]:
        raise NoRoles("what one loop over keys ends with is not what the next begins with")
    last = loops[-1]
    if last.axis is None or any(op.regions for op in last.body.block.ops):
        raise NoRoles("keys are walked one by one")
    found = _products(kernel, last, rows, row_axis, loops, axes, apart)
    slow = any(isinstance(op, scf.IfOp) for op in block.ops)
    if slow:
        found.absent = frozenset(absent_where(found, axes))
    found.placed = placing(found)
    if len(loops) == 2:
        same = FullAndMixed(loops[0], last, found, axes)
        same.hold()
        found.masks, found.tested = frozenset(same.masks), frozenset(same.tested()) - found.placed
    read_beside(found, axes)
    feed(found, axes)
    if any(len(each) > 2 for each in loaded_axes(found, axes)):
        raise NoRoles("a tile has more axes than rows and one other")
    found.block = block_of(found, axes)
    if found.block and last.outer is not None:
        raise NoRoles("keys lie apart, and are walked in a nest of loops")
    for op in block.ops:
        if op is loops[0]:
            break
        if op.results and not any(map(axes, op.results)) and any(map(axes, op.operands)):
            raise NoRoles("where keys begin or end is found among the rows of a tile, which roles share out")
    if any(isinstance(op, tile.StoreOp) and op.adds is not None for op in block.ops):
        raise NoRoles("rows add to what a tensor holds")
    hold_guarded(found, slow, axes)
    if not found.rotates:
        _hold_turned(found)
    choose_tiles(found)
    if found.shares:
        handed_on(found)
    elif form != "whole":
        raise NoRoles("few rows are cut by keys, and a consumer has all sums of a row")
    return found


def _hold_turned(found: Roled) -> None:
    """Holds that all that a turn of several scores, or weights, takes is boxes that stay, and numbers of each key."""
    if found.adding and len(found.loops) == 2:
        whole = found.whole(found.loops[0])
        if whole is None or not (found.goes_on or found.rows in made_of([whole])):
            raise NoRoles("rows are added up, and no program says by itself how many tiles are full")
    if len({each.end for each in found.adding}) > 1:
        raise NoRoles("what is added up ends at several rows")
    if len(found.boxes) < len(found.products):
        raise NoRoles("a turn has several tiles of scores, or of weights, and not all that it multiplies is copied")
    if found.block or found.ends:
        raise NoRoles(
            "a turn has several tiles of scores, or of weights, and keys lie apart, or end before their tensor"
        )


def _rows(block: Block) -> tuple[tile.ProgramOp, tile.RangeOp]:
    covers = next((op for op in block.ops if isinstance(op, tile.CoversOp)), None)
    rows = covers.rows.owner if covers is not None and covers.rows is not None else None
    axis = next((op for op in block.ops if isinstance(op, tile.RangeOp) and op.start.owner is rows), None)
    if not isinstance(rows, tile.ProgramOp) or axis is None:
        raise NoRoles("no rows share a tile")
    if not isinstance(rows.step.owner, spec.ChoiceOp):
        raise NoRoles("tiles have a size that is given")
    programs = [op for op in block.ops if isinstance(op, tile.ProgramOp)]
    if any(op.columns is not None for op in programs):
        raise NoRoles("programs are more than tiles of rows: columns are apart")
    if any(op.bound is not None and (op is not rows or op is not programs[-1]) for op in programs):
        raise NoRoles("data say how many programs there are, beside tiles of rows")
    return rows, axis


def _products(
    kernel: tile.KernelOp,
    loop: tile.LoopOp,
    rows: tile.ProgramOp,
    row_axis: tile.RangeOp,
    loops: tuple[tile.LoopOp, ...],
    axes: AxesAnalysis,
    apart: set[Operation],
) -> Roled:
    """The products of a turn."""
    assert loop.axis is not None
    key, row, body = loop.axis.result, row_axis.result, list(loop.body.block.ops)
    dots = [op for op in body if isinstance(op, tile.DotOp)]
    halves = {op.rounded.data for op in dots if op.rounded is not None}
    if len(halves) != 1 or not halves <= BYTES.keys() or any(op.rounded is None for op in dots):
        raise NoRoles("its products are not of f16 or bf16")
    element = halves.pop()
    scoring, weighted = [op for op in dots if op.over not in (key, row)], [op for op in dots if op.over is key]
    if not scoring or not weighted:
        raise NoRoles("its products are not some over features and some over keys")
    boxes = {dot: _tile_of(kernel, dot, loop, row, element, axes, apart) for dot in (*scoring, *weighted)}
    if any(axes(dot.result) != {row, key if dot in scoring else boxes[dot].features} for dot in boxes):
        raise NoRoles("its products have more axes than rows, keys and features")
    if any(isinstance(op, spec.RandomOp) for op in body):
        raise NoRoles("numbers are drawn for every key, which takes the registers of scores")
    left = {dot: dot.rhs if dot.lhs is box.value else dot.lhs for dot, box in boxes.items()}
    if any(isinstance(left[dot].owner, Block) or left[dot].owner in body for dot in scoring):
        raise NoRoles("what keys are multiplied with changes from turn to turn")
    if any(len(found) > 2 or (len(found) == 2 and row not in found) for found in _tiles(kernel, row, loops, axes)):
        raise NoRoles("a tile has more axes than rows and one other")
    added = [op for op in dots if op.over is row]
    scores, joined = _joined(scoring)
    queries = [_queries(kernel, left[dot], row, element, axes) for dot in scoring]
    sums = tuple(Summed(dot, boxes[dot], left[dot], *_sum(loop, dot)) for dot in weighted)
    if any(constant(_alike(loops[0].iter_args[each.state])) != 0 for each in sums if each.factor is not None):
        raise NoRoles("what its second product is added to, times a factor, does not begin with 0")
    return Roled(
        rows,
        row_axis,
        loops,
        tuple(Scored(dot, boxes[dot], left[dot], scores[dot]) for dot in scoring),
        joined,
        tuple(box for box in queries if box is not None) if None not in queries else (),
        sums,
        adding=tuple(_added(dot, [box for box in queries if box is not None], key, axes) for dot in added),
    )


def _alike(value: SSAValue) -> SSAValue:
    """What all elements of a value are."""
    return value.owner.value if isinstance(value.owner, tile.BroadcastOp) else value


def _added(dot: tile.DotOp, queries: Sequence[Box], key: SSAValue, axes: AxesAnalysis) -> AddedUp:
    """A product over rows, and where it is added up."""
    users, box = tile.users(dot.result), next((box for box in queries if box.value in (dot.lhs, dot.rhs)), None)
    if box is None:
        raise NoRoles("what rows add up is no product with queries that are boxes")
    store = users[0] if len(users) == 1 else None
    target = added_to(store, key, axes) if isinstance(store, tile.StoreOp) else None
    if target is None or axes(dot.result) != {key, target.features} or not isinstance(store, tile.StoreOp):
        raise NoRoles("what rows add up is added to no box of keys and features")
    left = dot.rhs if dot.lhs is box.value else dot.lhs
    choice = left.owner
    if not isinstance(choice, arith.SelectOp) or not isinstance(test := choice.cond.owner, arith.CmpiOp):
        return AddedUp(dot, box, left, store, target)
    alone = constant(choice.rhs) == 0 and tile.users(left) == [dot] and not axes(test.rhs)
    if not alone or predicate(test) != "slt" or test.lhs is not dot.over:
        raise NoRoles("what rows add up rests on more than which rows there are")
    return AddedUp(dot, box, left, store, target, choice, test.rhs)


def _tile_of(
    kernel: tile.KernelOp,
    dot: tile.DotOp,
    loop: tile.LoopOp,
    row: SSAValue,
    element: str,
    axes: AxesAnalysis,
    apart: set[Operation],
) -> Box | Loaded:
    """The tile of keys or values that a product takes."""
    assert loop.axis is not None
    key = loop.axis.result
    tiles = [value for value in (dot.lhs, dot.rhs) if key in axes(value) and row not in axes(value)]
    if len(tiles) != 1:
        raise NoRoles("its products are not of rows and keys, each by itself")
    (value,) = tiles
    load = value.owner
    if isinstance(load, tile.LoadOp) and load.parent is loop.body.block and load not in apart:
        return box_read(kernel, load, key, element, axes)
    others = axes(value) - {key}
    if len(others) != 1:
        raise NoRoles("its products have more axes than rows, keys and features")
    (features,) = others
    return load_tile(value, features, loop)


def _queries(kernel: tile.KernelOp, value: SSAValue, row: SSAValue, element: str, axes: AxesAnalysis) -> Box | None:
    """A tile of queries, where it is a box of its tensor, and nothing rests on what is absent of it."""
    load = value.owner
    try:
        box = box_read(kernel, load, row, element, axes) if isinstance(load, tile.LoadOp) else None
    except NoRoles:
        return None
    if box is None or not (lies_inside(box.load, box.sides, box.heads) or is_apart(box, row, axes)):
        return None
    return box


def _joined(scoring: Sequence[tile.DotOp]) -> tuple[dict[tile.DotOp, SSAValue], frozenset[Operation]]:
    """The sum that each product is a part of, and what adds them up, which nothing else takes."""
    parts: dict[tile.DotOp, SSAValue] = {dot: dot.result for dot in scoring}
    joined = set[Operation]()
    while True:
        sums = [found[0] for part in dict.fromkeys(parts.values()) if len(found := tile.users(part)) == 1]
        both = next((op for op in sums if isinstance(op, arith.AddfOp) and sums.count(op) == 2), None)
        if both is None:
            return parts, frozenset(joined)
        joined.add(both)
        parts = {dot: both.results[0] if part in both.operands else part for dot, part in parts.items()}


def _tiles(kernel: tile.KernelOp, row: SSAValue, loops: Sequence[tile.LoopOp], axes: AxesAnalysis) -> Iterator[Axes]:
    """The axes of all tiles of a kernel but keys and values, and what these are made of."""
    dots = [op for loop in loops for op in loop.body.block.ops if isinstance(op, tile.DotOp)]
    made = {value.owner for dot in dots for value in (dot.lhs, dot.rhs) if row not in axes(value)}
    made |= {dot for dot in dots if dot.over is row}
    for op in reversed(list(operations(kernel))):
        users = [user for result in op.results for user in tile.users(result)]
        if users and made.issuperset(users):
            made.add(op)
        elif op not in made:
            yield from (axes(result) for result in op.results)


def _sum(loop: tile.LoopOp, weighted: tile.DotOp) -> tuple[int, Operation, SSAValue | None]:
    """Which carried value a product is added to, where, and what that is multiplied with before."""
    users = tile.users(weighted.result)
    added = users[0] if len(users) == 1 else None
    values = list(loop.end.values)
    if not isinstance(added, arith.AddfOp) or values.count(added.result) != 1:
        raise NoRoles("its second product is not added to what the loop carries")
    state = values.index(added.result)
    carried = loop.body.block.args[1 + state]
    before = added.rhs if added.lhs is weighted.result else added.lhs
    scaled = before.owner
    if before is carried and len(tile.users(carried)) == 1:
        return state, added, None
    alone = all(len(tile.users(value)) == 1 for value in (carried, before, added.result))
    if alone and isinstance(scaled, arith.MulfOp) and carried in scaled.operands:
        return state, added, scaled.rhs if scaled.lhs is carried else scaled.lhs
    raise NoRoles("its second product is not added to what the loop carries, or that times a factor")
