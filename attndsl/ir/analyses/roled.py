"""Whether the warps of a `tile` kernel can have roles, and what each would do. An analysis; refusals are in words.

Taken is a kernel that folds tiles of keys in one loop, or in one over full tiles and one over mixed ones, whose turn is
two products with arithmetic between: that of a tile of queries with one of keys, and that of what is made of it with a
tile of values, which is added to what the loop carries. Keys and values are boxes of their tensors. Where features are
cut into pieces, each has its products: scores are a sum of them, and the loop carries a sum for each piece of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import gcd

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import Side, box_of, in_blocks, lies_inside, tests_place
from attndsl.ir.analyses.facts import is_multiple
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.machines import MACHINES
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.roles import BYTES
from attndsl.ir.statements import named, of_kind, operations
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, scf

ROWS_OF_A_CONSUMER = 64
"""The rows that the matrix unit of four warps multiplies at once."""

CONSUMERS = 2
"""With three no accumulator of 128 features fits; with one the matrix unit rests while scores are made into weights."""

STAGES = 2
"""Three brought nothing on an H200, and one takes the copies out from under the products."""

MOST_REGISTERS = 192
"""What the tiles of a loop may take of a thread's 240 registers: with more it spills. Queries lie in shared memory."""

LONGEST_FEATURES = 256
"""The widest box, and the widest product."""

LEAST_PIECE = 16
"""The least keys that are copied by themselves."""

OTHER_MEMORY = 1024
"""The bytes of shared memory that are left to barriers, and to sums over rows."""


class NoRoles(ValueError):
    """The warps of a kernel have no roles; the message says why, in words that follow on "because"."""


@dataclass(frozen=True)
class Box:
    """A tile of keys, or of rows, that is a box of its tensor: `along` which axis those lie; features are the last.

    Where the tile has more features than there are, `end` is the first that is none. One that moves lies somewhere else
    in each turn, and only the keys of a `block` lie side by side; of others that is 0.
    """

    op: tile.LoadOp | tile.StoreOp
    along: int
    features: SSAValue
    sides: tuple[Side, ...]
    end: int | None = None
    block: int = 0

    @property
    def load(self) -> tile.LoadOp:
        """What reads it."""
        assert isinstance(self.op, tile.LoadOp)
        return self.op

    @property
    def first(self) -> int:
        """The first of its features, beside what only a program knows."""
        return sum(int(constant(value) or 0) * count for value, count in self.sides[-1].start.items())


@dataclass(frozen=True)
class Multiplied:
    """A product of a turn, of `left` and a box."""

    dot: tile.DotOp
    box: Box
    left: SSAValue


@dataclass(frozen=True)
class Summed(Multiplied):
    """A product that `added` adds to the carried value number `state`, after this is multiplied with `factor`."""

    state: int
    added: Operation
    factor: SSAValue | None


@dataclass
class Roled:
    """What is told apart of a kernel: `loops` are one, or that over full tiles and then that over mixed ones.

    Of the last loop: `scoring` are the products whose sum, made by `joined`, is `score`, of `queries` where these are
    all boxes that are multiplied as they lie in memory, and `summing` those that are added to what it carries, all with
    the same weights. `masks` are the selects that full tiles do without, `tested` all operations that only those need.
    `placed` are those that only say where boxes lie, and `absent` what is false where values lie outside of their
    tensor: of such keys NaN is copied, which a slow path looks for, and nothing else asks for them. Where boxes move, a
    turn is right for `block` keys, and any number that divides it; else that is 0.

    A program has `consumers`, each with `part_rows`, which walk tiles of `tile_keys` in so many `stages`, and
    `outboxes` for results where shared memory has room for them.
    """

    rows: tile.ProgramOp
    row_axis: tile.RangeOp
    loops: tuple[tile.LoopOp, ...]
    score: SSAValue
    scoring: tuple[Multiplied, ...]
    joined: frozenset[Operation]
    queries: tuple[Box, ...]
    summing: tuple[Summed, ...]
    masks: frozenset[Operation] = frozenset()
    tested: frozenset[Operation] = frozenset()
    placed: frozenset[Operation] = frozenset()
    absent: frozenset[SSAValue] = frozenset()
    block: int = 0
    consumers: int = CONSUMERS
    part_rows: int = ROWS_OF_A_CONSUMER
    tile_keys: int = 0
    stages: int = STAGES
    outboxes: bool = True

    @property
    def folded(self) -> tile.LoopOp:
        """The last loop, whose turn is right for every tile."""
        return self.loops[-1]

    @property
    def products(self) -> tuple[Multiplied, ...]:
        """All products of a turn."""
        return (*self.scoring, *self.summing)

    @property
    def goes_on(self) -> bool:
        """Whether the tiles of the second loop follow on those of the first."""
        full, mixed = self.loops[0], self.loops[-1]
        if full is mixed or mixed.lb is not full.ub or self.whole(full) is None:
            return False
        return all(loop.axis is not None and loop.axis.start is loop.body.block.args[0] for loop in self.loops)

    def whole(self, loop: tile.LoopOp) -> SSAValue | None:
        """How many tiles a loop walks, where it ends with a whole one and the kernel says how many; else None."""
        way = loop.ub.owner
        if isinstance(way, arith.AddiOp) and way.lhs is loop.lb:
            way = way.rhs.owner
        elif constant(loop.lb) != 0:
            return None
        count = way.lhs.owner if isinstance(way, arith.MuliOp) and way.rhs is loop.step else None
        if not isinstance(count, arith.FloorDivSIOp) or not isinstance(count.lhs.owner, arith.MaxSIOp):
            return None
        return count.result if constant(count.lhs.owner.rhs) == 0 else None

    @property
    def piece(self) -> int:
        """How many keys of a tile lie side by side at least where boxes move."""
        return gcd(self.block, self.tile_keys)

    def asked(self, condition: SSAValue) -> list[SSAValue]:
        """What of a condition is asked of the keys of a turn: all but that values lie in their tensor."""
        all_of = conjuncts(condition)
        asked = [each for each in all_of if each not in self.absent]
        return [condition] if len(asked) == len(all_of) else asked

    @property
    def tile_rows(self) -> int:
        """The rows of a program."""
        return self.consumers * self.part_rows


def roled(kernel: tile.KernelOp) -> Roled:
    """The roles that the warps of a kernel can have. Raises NoRoles."""
    if kernel.form is None or kernel.form.data != "whole" or kernel.when is not None or kernel.unless is not None:
        raise NoRoles("it is no kernel that folds all keys of a row")
    block, axes = kernel.body.block, AxesAnalysis()
    loops = tuple(op for op in block.ops if isinstance(op, tile.LoopOp))
    rows, row_axis = _rows(block)
    if not 1 <= len(loops) <= 2 or (len(loops) == 2 and not (loops[0].is_full and loops[1].is_mixed)):
        raise NoRoles("a row walks its keys in several loops, or data are looked through for where keys lie")
    if len(loops) == 2 and loops[1].iter_args != loops[0].results[: len(loops[1].iter_args)]:
        raise NoRoles("what one loop over keys ends with is not what the next begins with")
    last = loops[-1]
    if last.outer is not None:
        raise NoRoles("keys are walked in a nest of loops")
    if last.axis is None or any(op.regions for op in last.body.block.ops):
        raise NoRoles("keys are walked one by one")
    found = _products(kernel, last, rows, row_axis, loops, axes)
    slow = any(isinstance(op, scf.IfOp) for op in block.ops)
    if slow:
        found.absent = frozenset(_absent(found, axes))
    found.placed = _placed(found)
    if len(loops) == 2:
        same = _Same(loops[0], last, found, axes)
        same.hold()
        found.masks, found.tested = frozenset(same.masks), frozenset(same.tested()) - found.placed
    for op in of_kind(last, tile.LoadOp):
        others = found.tested | found.placed
        if op not in others and not any(op is each.box.load for each in found.products):
            raise NoRoles(f"a turn reads {op.tensor.string_value()}, too")
    found.block = _block(found, axes)
    for op in block.ops:
        if op is loops[0]:
            break
        if op.results and not any(map(axes, op.results)) and any(map(axes, op.operands)):
            raise NoRoles("where keys begin or end is found among the rows of a tile, which roles share out")
    if any(isinstance(op, tile.StoreOp) and op.adds is not None for op in block.ops):
        raise NoRoles("rows add to what a tensor holds")
    _is_guarded(found, slow, axes)
    _choose(found)
    return found


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
) -> Roled:
    """The products of a turn."""
    assert loop.axis is not None
    key, row, body = loop.axis.result, row_axis.result, list(loop.body.block.ops)
    dots = [op for op in body if isinstance(op, tile.DotOp)]
    halves = {op.rounded.data for op in dots if op.rounded is not None}
    if len(halves) != 1 or not halves <= BYTES.keys() or any(op.rounded is None for op in dots):
        raise NoRoles("its products are not of f16 or bf16")
    element = halves.pop()
    scoring, weighted = [op for op in dots if op.over is not key], [op for op in dots if op.over is key]
    if not scoring or not weighted:
        raise NoRoles("its products are not some over features and some over keys")
    boxes = {}
    for dot in (*scoring, *weighted):
        loads = [v.owner for v in (dot.lhs, dot.rhs) if isinstance(v.owner, tile.LoadOp) and v.owner in body]
        if len(loads) != 1:
            raise NoRoles("keys or values are computed, and not read as they are multiplied")
        boxes[dot] = _box(kernel, loads[0], key, element, axes)
    if any(axes(dot.result) != {row, key if dot in scoring else boxes[dot].features} for dot in boxes):
        raise NoRoles("its products have more axes than rows, keys and features")
    if any(isinstance(op, spec.RandomOp) for op in body):
        raise NoRoles("numbers are drawn for every key, which takes the registers of scores")
    left = {dot: dot.rhs if dot.lhs.owner is box.load else dot.lhs for dot, box in boxes.items()}
    if any(isinstance(left[dot].owner, Block) or left[dot].owner in body for dot in scoring):
        raise NoRoles("what keys are multiplied with changes from turn to turn")
    if len({left[dot] for dot in weighted}) > 1:
        raise NoRoles("values are multiplied with several tiles of weights")
    if any(len(found) > 2 or (len(found) == 2 and row not in found) for found in _tiles(kernel, boxes.values(), axes)):
        raise NoRoles("a tile has more axes than rows and one other")
    score, joined = _joined(scoring)
    queries = [_queries(kernel, left[dot], row, element, axes) for dot in scoring]
    return Roled(
        rows,
        row_axis,
        loops,
        score,
        tuple(Multiplied(dot, boxes[dot], left[dot]) for dot in scoring),
        joined,
        tuple(box for box in queries if box is not None) if None not in queries else (),
        tuple(Summed(dot, boxes[dot], left[dot], *_sum(loop, dot)) for dot in weighted),
    )


def _queries(kernel: tile.KernelOp, value: SSAValue, row: SSAValue, element: str, axes: AxesAnalysis) -> Box | None:
    """A tile of queries, where it is a box of its tensor, and what lies outside of that is absent."""
    load = value.owner
    try:
        box = _box(kernel, load, row, element, axes) if isinstance(load, tile.LoadOp) else None
    except NoRoles:
        return None
    return box if box is not None and lies_inside(box.load, box.sides) else None


def _joined(scoring: Sequence[tile.DotOp]) -> tuple[SSAValue, frozenset[Operation]]:
    """The sum of products, and what adds them up, which nothing else takes."""
    parts: list[SSAValue] = [dot.result for dot in scoring]
    joined = set[Operation]()
    while len(parts) > 1:
        users = [tile.users(part) for part in parts]
        sums = [found[0] for found in users if len(found) == 1 and isinstance(found[0], arith.AddfOp)]
        both = next((op for op in sums if sums.count(op) == 2), None)
        if both is None:
            raise NoRoles("a turn has several tiles of scores")
        joined.add(both)
        parts = [both.results[0], *(part for part in parts if part not in both.operands)]
    return parts[0], frozenset(joined)


def _tiles(kernel: tile.KernelOp, boxes: Iterable[Box], axes: AxesAnalysis) -> Iterator[Axes]:
    """The axes of all tiles of a kernel but its boxes, and what says which of their elements are read."""
    boxed = {box.load.tensor for box in boxes}
    loads = {op for op in operations(kernel) if isinstance(op, tile.LoadOp) and op.tensor in boxed and op.apart is None}
    for op in operations(kernel):
        users = [user for result in op.results for user in tile.users(result)]
        if op not in loads and not (users and loads.issuperset(users)):
            yield from (axes(result) for result in op.results)


def _box(kernel: tile.KernelOp, load: tile.LoadOp, key: SSAValue, element: str, axes: AxesAnalysis) -> Box:
    """A load as a box."""
    name = load.tensor.string_value()
    tensor = spec.enclosing_tensor(kernel, name)
    if tensor.element.data != element or load.result not in named(kernel, tile.KeptOp):
        raise NoRoles(f"{name} is of {tensor.element.data}, and multiplied as {element}")
    return _box_along(load, load.result, key, axes)


def _box_along(op: tile.LoadOp | tile.StoreOp, tiled: SSAValue, key: SSAValue, axes: AxesAnalysis) -> Box:
    """A load, or a store, of a tile as a box, along an axis of keys or of rows."""
    name, sides = op.tensor.string_value(), box_of(op, axes)
    loop, block = op.parent_op(), 0
    if sides is None and isinstance(op, tile.LoadOp) and isinstance(loop, tile.LoopOp):
        sides, block = in_blocks(op, key, axes) or (None, 0)
    along = [n for n, side in enumerate(sides or ()) if side.axis is key]
    features = sides[-1].axis if sides is not None else None
    if sides is None or len(along) != 1 or features is None or features is key:
        raise NoRoles(
            f"keys of {name} are no box: they lie along one axis of it, one by one, and features along the last"
        )
    if axes(tiled) != {key, features}:
        raise NoRoles(f"keys of {name} are no box: another index differs within a tile")
    if isinstance(loop, tile.LoopOp) and not block:
        others = [value for n, side in enumerate(sides) if n != along[0] for value in side.start]
        if any(isinstance(value.owner, Operation) and value.owner.parent is op.parent for value in others):
            block = _divides(loop)
            if not block:
                raise NoRoles(f"keys of {name} are no box: where else they lie changes from turn to turn")
    if not _is_whole(features):
        raise NoRoles(f"the features of {name} are no power of two from 16 to {LONGEST_FEATURES} that is known")
    end = _end(op, features, axes)
    if end is not None and any(constant(value) is None for value in sides[-1].start):
        raise NoRoles(f"the features of {name} are padded, and no number says where they end")
    box = Box(op, along[0], features, sides, block=block)
    if block and end is not None:
        raise NoRoles(f"the features of {name} are padded, and where its keys lie changes from turn to turn")
    return box if end is None else replace(box, end=box.first + end)


def _divides(loop: tile.LoopOp) -> int:
    """What the keys of a loop's tiles divide, each of which lies in one block of so many; 0 where that is nothing."""
    choice = loop.step.owner
    return choice.divides.value.data if isinstance(choice, spec.ChoiceOp) and choice.divides is not None else 0


def _absent(found: Roled, axes: AxesAnalysis) -> Iterator[SSAValue]:
    """The conditions that are false where all tiles of values lie outside of their tensors, whatever the key."""
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


def _placed(found: Roled) -> frozenset[Operation]:
    """The operations of a turn that only say where boxes lie, or that these lie in their tensors."""
    loop, loads = found.folded, {each.box.load for each in found.products}
    needed: set[Operation | Block] = set()
    waiting: list[Operation | Block] = [
        loop.end,
        *(op for op in loop.body.block.ops if isinstance(op, tile.STATEMENTS)),
    ]
    assert loop.axis is not None
    needed.update(waiting)
    waiting = [loop.axis, *(value.owner for value in loop.end.operands)]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, Operation) or op in needed or op.parent is not loop.body.block:
            continue
        needed.add(op)
        values = [] if op in loads else list(op.operands)
        if isinstance(op, arith.SelectOp):
            values = [op.lhs, op.rhs, *found.asked(op.cond)]
        waiting += [value.owner for value in values]
    return frozenset(op for op in loop.body.block.ops if op not in needed)


def _block(found: Roled, axes: AxesAnalysis) -> int:
    """The keys of a block, within which a turn is right for any number of keys, where boxes move; else 0.

    A tile with roles may have several blocks. What is made of its scores must not know in which one a key lies.
    """
    loop, size = found.folded, gcd(*(each.box.block for each in found.products))
    if not size:
        return 0
    assert loop.axis is not None
    if size % LEAST_PIECE:
        raise NoRoles(f"fewer than {LEAST_PIECE} keys lie side by side")
    if loop.axis.start is not loop.body.block.args[0] or not all(
        is_multiple(each.lb, each.step) for each in found.loops
    ):
        raise NoRoles("tiles of keys begin within blocks of them")
    begins = {loop.body.block.args[0]}
    for op in loop.body.block.ops:
        if op is loop.axis or op in found.placed or op is loop.end or isinstance(op, tile.STATEMENTS):
            continue
        if any(op is each.box.load for each in found.products) or begins.isdisjoint(op.operands):
            continue
        if any(axes(result) for result in op.results):
            raise NoRoles("what is made of scores rests on the block that their keys lie in")
        begins.update(op.results)
    return size


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


def put_of(store: tile.StoreOp, row: SSAValue, axes: AxesAnalysis) -> Box | None:
    """The box that a store writes for the rows of a tile; None where it writes none, or adds, or not 16 bits."""
    tensor = spec.enclosing_tensor(store, store.tensor.string_value())
    if store.adds is not None or tensor.element.data not in BYTES or row not in axes(store.value):
        return None
    try:
        box = _box_along(store, store.value, row, axes)
    except NoRoles:
        return None
    return box if lies_inside(store, box.sides) else None


def _is_whole(feature: SSAValue) -> bool:
    """Whether an axis of features has a size that a box and a product have."""
    axis = feature.owner
    size = constant(axis.size) if isinstance(axis, tile.RangeOp) else None
    return size is not None and 16 <= size <= LONGEST_FEATURES and int(size).bit_count() == 1


def size_of_axis(axis: SSAValue) -> int:
    """The size of an axis of features, which `roled` has taken."""
    assert isinstance(axis.owner, tile.RangeOp)
    size = constant(axis.owner.size)
    assert size is not None
    return int(size)


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


@dataclass
class _Same:
    """Holds that a turn over a full tile is one over a mixed tile without its masks, and finds these."""

    full: tile.LoopOp
    mixed: tile.LoopOp
    found: Roled
    axes: AxesAnalysis
    masks: list[Operation] = field(default_factory=list)
    known: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.boxes = {each.box.load for each in self.found.products}
        self.moving = {each.box.load for each in self.found.products if each.box.block}

    def hold(self) -> None:
        """Raises NoRoles where it is not so."""
        full, mixed = self.full.body.block, self.mixed.body.block
        assert self.full.axis is not None and self.mixed.axis is not None
        # A full tile may carry more: what says where the keys of the next one lie.
        self.known.update(zip(mixed.args[1:], full.args[1:], strict=False))
        self.known[self.mixed.axis.start] = self.full.axis.start
        self.known[self.mixed.axis.result] = self.full.axis.result
        pairs = zip(self.mixed.end.values, self.full.end.values, strict=False)
        if not all(self._same(value, other) for value, other in pairs):
            raise NoRoles("a mixed tile is folded in another way than a full one, and not only masked")

    def tested(self) -> list[Operation]:
        """The operations of a turn over a mixed tile that only masks need."""
        needed: set[Operation | Block] = {self.mixed.axis, self.mixed.end}  # type: ignore[arg-type]
        waiting = [value.owner for op in (self.mixed.axis, self.mixed.end) if op for value in op.operands]
        while waiting:
            op = waiting.pop()
            if isinstance(op, Operation) and op not in needed and op.parent is self.mixed.body.block:
                needed.add(op)
                operands = op.indices if isinstance(op, tile.LoadOp) and op in self.boxes else op.operands
                waiting += [value.owner for n, value in enumerate(operands) if n or op not in self.masks]
        return [op for op in self.mixed.body.block.ops if op not in needed]

    def _same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether a value of a mixed turn is that of a full one, but for masks."""
        other = self._bare(other)
        if value in self.known:
            return self.known[value] is other
        op, its = value.owner, other.owner
        if isinstance(op, Block) or op.parent is not self.mixed.body.block:
            return value is other
        before = dict(self.known), list(self.masks)
        if type(op) is type(its) and isinstance(its, Operation) and self._equal(op, its):
            self.known[value] = other
            return True
        self.known, self.masks = before
        if isinstance(op, arith.SelectOp) and self._same(op.lhs, other):
            self.masks.append(op)
            self.known[value] = other
            return True
        # That a key lies in the tile is asked together with what a full tile asks for, too.
        if isinstance(op, arith.AndIOp) and any(self._same(operand, other) for operand in op.operands):
            self.known[value] = other
            return True
        return False

    def _bare(self, value: SSAValue) -> SSAValue:
        """What a value is for keys that are there, whose values lie in their tensor."""
        while isinstance(op := value.owner, arith.SelectOp) and not self.found.asked(op.cond):
            value = op.lhs
        return value

    def _equal(self, op: Operation, its: Operation) -> bool:
        if isinstance(op, tile.LoadOp) and isinstance(its, tile.LoadOp) and op in self.moving:
            return op.tensor == its.tensor  # of the keys of a tile, wherever those lie
        if isinstance(op, tile.LoadOp) and isinstance(its, tile.LoadOp) and op in self.boxes:
            pairs = list(zip(op.indices, its.indices, strict=True))
            assert self.mixed.axis is not None
            key = self.mixed.axis.result
            features = {each for each in conjuncts(op.where) if key not in self.axes(each)}
            alike = op.tensor == its.tensor and features == set(conjuncts(its.where))
            return alike and all(self._same(*pair) for pair in pairs)
        alike = op.properties == its.properties and len(op.operands) == len(its.operands)
        return alike and not op.regions and all(map(self._same, op.operands, its.operands))


def _is_guarded(found: Roled, slow: bool, axes: AxesAnalysis) -> None:
    """Holds that what a box reads beyond the keys of a tile changes nothing.

    A box ends where its tensor does, and not where keys do. What it holds of others has no weight; where memory may
    hold NaN there, a `slow` path finds it out afterwards. Without one, keys must end where the tensor does.
    """
    assert found.folded.axis is not None
    key = found.folded.axis.result
    for box in (each.box for each in found.products):
        name = box.load.tensor.string_value()
        for where in (each for each in conjuncts(box.load.where) if box.features not in axes(each)):
            test, extent = where.owner, spec.enclosing_tensor(box.load, name).shape[box.along]
            if where in found.absent:
                continue  # NaN is copied
            if isinstance(test, arith.CmpiOp) and tests_place(test, box.sides[box.along], extent, axes):
                continue  # what lies outside of a tensor is copied as 0
            if not isinstance(test, arith.CmpiOp) or axes(where) != {key} or key not in test.operands:
                raise NoRoles(f"whether a key of {name} is read rests on more than its place")
            end = test.lhs if test.rhs is key else test.rhs
            if not slow and not (isinstance(end.owner, spec.DimOp) and extent == ("dim", end.owner.dim.data)):
                raise NoRoles(f"keys of {name} end before the tensor does, and nothing looks for NaN behind them")


def _choose(found: Roled) -> None:
    """The keys of a tile: as many as registers and shared memory have room for."""
    choices = [op for op in operations(found.rows.parent_op() or found.rows) if isinstance(op, spec.ChoiceOp)]
    if any(op.divides is not None and (op is not found.folded.step.owner or not found.block) for op in choices):
        raise NoRoles("the keys of a tile must lie in one block")
    sums, live = features_of(found.summing), _most_live(found) + _quotients(found)
    # A thread has a 128th of 64 rows: sums, scores, and weights, two to a register, of this turn and of the one before.
    fitting = [keys for keys in (128, 64) if sums // 2 + live * keys // 2 + keys // 2 <= MOST_REGISTERS]
    if not fitting:
        raise NoRoles("its tiles have no room in registers")
    fitting = [keys for keys in fitting if _memory(found, keys) <= MACHINES["cuda:90"].shared]
    if not fitting:
        raise NoRoles("its tiles have no room in shared memory")
    found.tile_keys = fitting[0]
    found.outboxes = _memory(found, fitting[0], True) <= MACHINES["cuda:90"].shared


def _memory(found: Roled, keys: int, outboxes: bool = False) -> int:
    """The bytes of shared memory that a program takes whose tiles have so many keys, `outboxes` of results, too."""
    multiplied, summed = features_of(found.scoring), features_of(found.summing)
    # Each row has its queries there. Its results have an outbox, or pass through half as much as they are laid out.
    rows = found.tile_rows * (2 * multiplied + (2 if outboxes else 1) * summed)
    # What masks read passes through memory, 8 bytes of each key at most, from threads that read it to all others.
    masks = 8 * keys * found.consumers * sum(isinstance(op, tile.LoadOp) for op in found.tested)
    return rows + 2 * found.stages * keys * (multiplied + summed) + masks + OTHER_MEMORY


def features_of(products: Iterable[Multiplied]) -> int:
    """How many features the boxes of products have."""
    return sum(size_of_axis(each.box.features) for each in products)


def _quotients(found: Roled) -> int:
    """How many tiles quotients take that a turn computes of the places of keys: what is no sum is not made again.

    Each takes one, and another while it is compared.
    """
    axes, axis = AxesAnalysis(), found.folded.axis
    body = [op for op in found.folded.body.block.ops if op not in found.placed]
    divisions = [op for op in body if isinstance(op, arith.FloorDivSIOp | spec.ModOp)]
    return 2 * sum(axis is not None and axis.result in axes(op.results[0]) for op in divisions)


def _most_live(found: Roled) -> int:
    """How many tiles made of scores a turn has at once, at most; what is made of places alone is made again."""
    body = list(found.folded.body.block.ops)
    place = {op: n for n, op in enumerate(body)}
    axes, made, most = AxesAnalysis(), [found.score], 1
    live: dict[SSAValue, int] = {}
    for n, op in enumerate(body):
        for value in op.results:
            rests = value is found.score or any(operand in made for operand in op.operands)
            if rests and len(axes(value)) == 2 and not any(op is each.dot for each in found.summing):
                made.append(value)
                live[value] = max((place[use.operation] for use in value.uses if use.operation in place), default=n)
        most = max(most, sum(last > n for last in live.values()))
    return most
