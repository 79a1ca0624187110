"""Rankings: where a block leaves the scores of a `topk` and the positions that it gives, for a later kernel to read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    Reduce,
    ReduceAxis,
    Write,
    operands,
    walk,
)
from attndsl.ir.workspaces import fresh


@dataclass(frozen=True)
class Ranking:
    """What ranks the keys of a row: all `places` of one topk, the elements of its vector.

    `scores` and `present` are workspaces with an element for each of `rows` and each of so many `keys`, by its
    position, and `positions` is one with an element for each row and each of the `count` largest. That is `left` only
    where something reads it, besides the block's `writes` of all places.
    """

    places: tuple[Reduce, ...]
    rows: tuple[Index, ...]
    keys: Expr
    count: Expr
    scores: str
    present: str
    positions: str
    writes: tuple[Write, ...]
    left: bool

    @property
    def apart(self) -> bool:
        """Whether each key has a position of its own, those that do not count too."""
        return isinstance(self.reduce.value, IndexValue)

    @property
    def whole(self) -> bool:
        """Whether each position is that of a key, for every row."""
        value = self.reduce.value
        return isinstance(value, IndexValue) and value.index.extent is value.index.bound

    @property
    def reduce(self) -> Reduce:
        """One of the places, which all have the same score, mask and position."""
        return self.places[0]


def rankings_of(block: Block, taken: set[str]) -> Iterator[Ranking]:
    """The rankings of a block, those that others rest on first; their names join those that are `taken`."""
    groups: dict[tuple[Expr | None, ...], list[Reduce]] = {}
    names: dict[Reduce, str] = {}
    for write in block.writes:
        for expr in walk(*write.indices, write.value):
            if isinstance(expr, Reduce) and expr.function == "topk" and expr not in names:
                names[expr] = write.tensor.name
                groups.setdefault((expr.score, expr.mask, expr.value, expr.count), []).append(expr)
    for (score, mask, _, count), places in groups.items():
        assert score is not None and count is not None
        axes = free_axes(*(part for part in (score, mask) if part is not None))
        keys = room(block.over[0])
        for index in block.over[1:]:
            keys = Apply(Kind.INT, keys.span, "imul", (keys, room(index)))
        writes = tuple(write for write in block.writes if not axes and _is_whole(write, places))
        others = [write.value for write in block.writes if write not in writes]
        others += [index for write in block.writes for index in write.indices]
        others += [part for each in groups for part in each[:2] if part is not None]
        made = []
        for kind in ("scores", "present", "positions"):
            made.append(fresh(f"{names[places[0]]}_{kind}", taken))
            taken.add(made[-1])
        read = not set(places).isdisjoint(walk(*others))
        scores, present, positions = made
        yield Ranking(
            tuple(places), (*block.each, *axes), keys, at_least_0(count), scores, present, positions, writes, read
        )


def _is_whole(write: Write, places: list[Reduce]) -> bool:
    """Whether a write is of all places, one for each value of its axis."""
    place = write.value.nth if isinstance(write.value, Reduce) and write.value in places else None
    return isinstance(place, IndexValue) and write.axes == (place.index,) and not write.adds


@dataclass(frozen=True)
class Left:
    """Where a reduction over keys is left: a workspace with an element for each of these rows, axes among them."""

    name: str
    rows: tuple[Index, ...]

    @classmethod
    def of(cls, reduce: Reduce, block: Block, name: str) -> Left:
        """A place for a reduction of a block."""
        return cls(name, (*block.each, *free_axes(reduce)))


def reductions_in(ranked: Reduce, left: Collection[Reduce]) -> list[Reduce]:
    """The reductions that the scores of a topk are made of and that are not `left` yet, those inside of none."""

    def through(expr: Expr) -> tuple[Expr, ...]:
        """The operands, and of a reduction what the read of it is made of."""
        if isinstance(expr, Reduce):
            return tuple(part for part in (expr.sink, expr.nth) if part is not None)
        return operands(expr)

    parts = (part for part in (ranked.score, ranked.mask) if part is not None)
    return [expr for expr in walk(*parts, through=through) if isinstance(expr, Reduce) and expr not in left]


def free_axes(*exprs: Expr) -> tuple[Index, ...]:
    """The axis variables that expressions depend on, by their names."""
    free: dict[Expr, frozenset[Index]] = {}
    for expr in walk(*exprs):
        below = frozenset[Index]().union(*(free[operand] for operand in operands(expr)))
        match expr:
            case IndexValue(index=index) if index.role == "axis":
                below = frozenset((index,))
            case ReduceAxis():
                below -= {expr.index}
        free[expr] = below
    return tuple(sorted(frozenset[Index]().union(*(free[expr] for expr in exprs)), key=lambda index: index.name))


def room(index: Index) -> Expr:
    """How many values of a variable a tensor has room for."""
    return at_least_0(index.bound)


def at_least_0(extent: Expr) -> Expr:
    """An extent that may come out less than 0, as a tensor has it."""
    if isinstance(extent, DimValue) or (isinstance(extent, Constant) and extent.value >= 0):
        return extent
    return Apply(Kind.INT, extent.span, "imax", (Constant(Kind.INT, extent.span, 0), extent))
