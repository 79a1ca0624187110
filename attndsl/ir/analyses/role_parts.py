"""What is told apart of a kernel for roles: boxes that are copied, products of a turn, and how much each role has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import gcd

from attndsl.ir import tile
from attndsl.ir.analyses.boxes import Heads, Side
from attndsl.ir.analyses.facts import leaves
from attndsl.ir.keys import conjuncts
from attndsl.ir.rewrite import constant
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import Operation, SSAValue, arith

ROWS_OF_A_CONSUMER = 64
"""The rows that the matrix unit of four warps multiplies at once."""

CONSUMERS = 2
"""With three no accumulator of 128 features fits; with one the matrix unit rests while scores are made into weights."""

WIDE_CONSUMERS = 3
"""Of programs with more rows, where registers of each have room for its tiles (`attndsl.ir.analyses.role_room`)."""

STAGES = 2
"""Three brought nothing on an H200, and one takes the copies out from under the products."""

WIDE_STAGES = 3
"""Of programs with more consumers, the last of which is well behind the first: two took 1.01 to 1.02 of the time."""


EXCHANGED_STAGES = 2
"""Of what consumers exchange: the one that is ahead is a turn ahead at most."""


class NoRoles(ValueError):
    """The warps of a kernel have no roles; the message says why, in words that follow on "because"."""


class NoBox(NoRoles):
    """A load is no box that can be copied as it lies: threads may load it."""

    def __init__(self, load: tile.LoadOp | tile.StoreOp, why: str) -> None:
        self.load = load
        super().__init__(why)


@dataclass(frozen=True)
class Box:
    """A tile of keys, or of rows, that is a box of its tensor: `along` which axis those lie; features are the last.

    Where the tile has more features than there are, `end` is the first that is none. One that moves lies somewhere else
    in each turn, and only the keys of a `block` lie side by side; of others that is 0. Rows that are packed are those
    of several `heads`.
    """

    op: tile.LoadOp | tile.StoreOp
    along: int
    features: SSAValue
    sides: tuple[Side, ...]
    end: int | None = None
    block: int = 0
    heads: Heads | None = None

    @property
    def load(self) -> tile.LoadOp:
        """What reads it."""
        assert isinstance(self.op, tile.LoadOp)
        return self.op

    @property
    def value(self) -> SSAValue:
        """The tile."""
        return self.load.result

    @property
    def first(self) -> int:
        """The first of its features, beside what only a program knows."""
        return sum(int(constant(value) or 0) * count for value, count in self.sides[-1].start.items())


@dataclass(frozen=True)
class Loaded:
    """A tile that is no box, which threads load, or compute of what they load; `features` are its last axis."""

    value: SSAValue
    features: SSAValue


@dataclass(frozen=True)
class Multiplied:
    """A product of a turn, of `left` and a tile of keys or values."""

    dot: tile.DotOp
    box: Box | Loaded
    left: SSAValue


@dataclass(frozen=True)
class Scored(Multiplied):
    """A product that is a tile of scores, or a part of the sum that is `score`."""

    score: SSAValue


@dataclass(frozen=True)
class Summed(Multiplied):
    """A product that `added` adds to the carried value number `state`, after this is multiplied with `factor`."""

    state: int
    added: Operation
    factor: SSAValue | None


@dataclass(frozen=True)
class AddedUp(Multiplied):
    """A product over all rows of a program, of what is made of scores and a tile of queries, that is added up.

    `store` adds it to the elements of `target`, which has the keys of a turn and the features of the box. It is
    `chosen` of rows that there are, where those end before a tile does: at `end`.
    """

    store: tile.StoreOp
    target: Box
    chosen: arith.SelectOp | None = None
    end: SSAValue | None = None

    @property
    def features(self) -> SSAValue:
        """The features of what is added."""
        return self.target.features


@dataclass
class Roled:
    """What is told apart of a kernel: `loops` are one, or that over full tiles and then that over mixed ones.

    Of the last loop: `scoring` are the products whose sums, made by `joined`, are `scores`, of `queries` where these
    are all boxes that are multiplied as they lie in memory, and `summing` those that are added to what it carries.
    Where consumers add up what they have of all their rows, `adding` are the products for that.
    `masks` are the selects that full tiles do without, `tested` all operations that only those need. `placed` are those
    that only say where boxes lie, and `absent` what is false where values lie outside of their tensor: of such keys NaN
    is copied, which a slow path looks for, and nothing else asks for them. Where boxes move, a turn is right for
    `block` keys, and any number that divides it; else that is 0. A turn may read more `beside` keys and values, for its
    scores: of that each consumer has so many stages of its own; of a turn of several scores it is numbers of each key,
    made of what is read, which all have. Values have `ends` where keys do before their tensor: what lies behind them is
    cleared. What is `fed` to the role that loads is copied for it: boxes that are no tiles of products yet, such as
    keys of 8 bits. Of each load in full tiles less is `asked_of_full` than in others.

    A program has `consumers`, each with `part_rows`, which walk tiles of `tile_keys` in so many `stages`, and
    `outboxes` for results where shared memory has room for them. Where a consumer's registers have no room for the sums
    of its rows, all have the same rows and `shares` of the sums: the first folds keys, and hands weights on to the
    others. Results are `scattered`, each thread writing what it has, where shared memory has no room to line them up.
    """

    rows: tile.ProgramOp
    row_axis: tile.RangeOp
    loops: tuple[tile.LoopOp, ...]
    scoring: tuple[Scored, ...]
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
    beside: tuple[Box | Loaded, ...] = ()
    beside_stages: int = 1
    fed: tuple[Box, ...] = ()
    asked_of_full: dict[tile.LoadOp, list[SSAValue]] = field(default_factory=dict)
    ends: dict[tile.LoadOp, SSAValue] = field(default_factory=dict)
    shares: tuple[tuple[Summed, ...], ...] = ()
    scattered: bool = False
    adding: tuple[AddedUp, ...] = ()

    @property
    def folded(self) -> tile.LoopOp:
        """The last loop, whose turn is right for every tile."""
        return self.loops[-1]

    @property
    def scores(self) -> tuple[SSAValue, ...]:
        """The tiles of scores of a turn, in order."""
        return tuple(dict.fromkeys(each.score for each in self.scoring))

    @property
    def rotates(self) -> bool:
        """Whether a turn has one tile of scores and one of weights: its sums may run on under the next one's scores.

        With several, as gradients have, a turn begins and ends its products by itself.
        """
        return not self.adding and len(self.scores) == 1 and len({each.left for each in self.summing}) == 1

    @property
    def products(self) -> tuple[Multiplied, ...]:
        """All products of a turn."""
        return (*self.scoring, *self.summing)

    @property
    def boxes(self) -> list[Box]:
        """The keys and values that are boxes, those of each product."""
        return [each.box for each in self.products if isinstance(each.box, Box)]

    @property
    def tiles(self) -> list[Box | Loaded]:
        """All that a turn takes, each once."""
        return list({each.value: each for each in (*(each.box for each in self.products), *self.beside)}.values())

    @property
    def loaded(self) -> list[SSAValue]:
        """What of that a role of its own loads; numbers for a turn of several scores the one that copies hands on."""
        return [each.value for each in self.tiles if isinstance(each, Loaded)] if self.rotates else []

    @property
    def goes_on(self) -> bool:
        """Whether the tiles of the second loop follow on those of the first."""
        full, mixed = self.loops[0], self.loops[-1]
        if full is mixed or mixed.lb is not full.ub or self.whole(full) is None:
            return False
        return all(loop.axis is not None and loop.axis.start is loop.body.block.args[0] for loop in self.loops)

    @property
    def mixes_once(self) -> bool:
        """Whether there is one mixed tile at most: full ones go up to the end of keys."""
        full, mixed = self.loops[0], self.loops[-1]
        count = self.whole(full)
        if full is mixed or count is None or not self.goes_on or constant(full.lb) != 0 or mixed.outer is not None:
            return False
        whole = count.owner
        return isinstance(whole, arith.FloorDivSIOp) and _bare(whole.lhs) is _bare(mixed.ub)

    @property
    def is_told(self) -> bool:
        """Whether data say where keys begin or end."""
        ends = [end for loop in self.loops for end in (loop.lb, loop.ub)]
        return any(isinstance(leaf.owner, tile.LoadOp) for end in ends for leaf in leaves(end))

    @property
    def cuts_keys(self) -> bool:
        """Whether consumers share out the keys of what they add up, where each has 64 of them, and not its features."""
        return self.tile_keys >= ROWS_OF_A_CONSUMER * self.row_parts

    def is_last(self, end: SSAValue) -> bool:
        """Whether no tile but the last one visited reaches behind an end of keys: tiles walk up to that, in order."""
        last = len(self.loops) == 1 or self.goes_on
        return last and self.folded.outer is None and _bare(end) is _bare(self.folded.ub)

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
    def row_parts(self) -> int:
        """How many consumers share out the rows of a program."""
        return 1 if self.shares else self.consumers

    @property
    def tile_rows(self) -> int:
        """The rows of a program."""
        return self.row_parts * self.part_rows

    @property
    def is_wide(self) -> bool:
        """Whether programs have more consumers than others."""
        return self.consumers == WIDE_CONSUMERS

    @property
    def kept(self) -> tuple[int, ...]:
        """Which of the carried values are no sums."""
        sums = {each.state for each in self.summing}
        return tuple(n for n in range(len(self.folded.res)) if n not in sums)

    def share_of(self, value: SSAValue) -> int | None:
        """Which share of the sums values belong to; None of keys alone."""
        return next((n for n, share in enumerate(self.shares) for each in share if each.box.value is value), None)


def _bare(count: SSAValue) -> SSAValue:
    """A count that is 0 where it would be less, without that."""
    op = count.owner
    return op.lhs if isinstance(op, arith.MaxSIOp) and constant(op.rhs) == 0 else count


def element_of(read: SSAValue) -> str:
    """The element type of what is read from memory."""
    load = read.owner
    assert isinstance(load, tile.LoadOp)
    return enclosing_tensor(load, load.tensor.string_value()).element.data


def size_of_axis(axis: SSAValue) -> int:
    """The size of an axis of features, which `roled` has taken."""
    assert isinstance(axis.owner, tile.RangeOp)
    size = constant(axis.owner.size)
    assert size is not None
    return int(size)


def features_of(products: Iterable[Multiplied]) -> int:
    """How many features the boxes of products have."""
    return sum(size_of_axis(each.box.features) for each in products)
