"""What a picture of a spec shows, as data: of some rows the keys that they see, and the tiles that programs visit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from attndsl.checking.typed import Block, Index, Reduce, Write, walk
from attndsl.choices import KEYS, ROWS, SPLITS
from attndsl.drawing.call import TILES, DrawnCall, row_variables
from attndsl.drawing.trace import Element, RowOfTile, Trace, TracedProgram, trace
from attndsl.driver.compile import lower
from attndsl.driver.summarise import feature_dims
from attndsl.driver.targets import target_of
from attndsl.ir import tile
from attndsl.ir.xdsl import ModuleOp
from attndsl.reference.arrays import along
from attndsl.reference.interpreter import call_of, run
from attndsl.reference.row import Row

Array = np.ndarray[Any, Any]
Values = tuple[int, ...]
"""What the `each` variables of a row are."""

PARTS = 4
"""Into how many parts the keys are split, where they are."""


@dataclass(frozen=True)
class DrawnTile:
    """The keys of one turn of a program: `full` where nothing is left to test, as every row sees each; else `mixed`."""

    kind: Literal["full", "mixed"]
    keys: Array


@dataclass(frozen=True)
class Walk:
    """What a program does of what is drawn: its rows, by their place there, and its tiles, in order.

    `start` is how many programs of its kernel start before it; `part` is which of the parts of a split its keys are.
    """

    rows: tuple[int, ...]
    tiles: tuple[DrawnTile, ...]
    start: int
    part: int = 0

    @property
    def keys(self) -> frozenset[int]:
        """All keys that it visits."""
        return frozenset(int(key) for tile in self.tiles for key in tile.keys)


@dataclass(frozen=True)
class Picture:
    """Some rows of a block and all keys: `seen[row, key]` where the reference counts the key.

    `rows` and `keys` say what these are, `fixed` which head or request it is. `whole` has a walk for each program that
    has one of the rows, as they start; `split` those of a launch that splits the keys, where one does. Either is empty
    where programs do not tell their rows: as where several rows add to one element, or keys are folded one by one.
    """

    block: Block
    rows: str
    keys: str
    fixed: Mapping[str, int]
    seen: Array
    whole: tuple[Walk, ...]
    split: tuple[Walk, ...]


@dataclass(frozen=True)
class SeenRow:
    """A row of a block as the reference has it: its variables, the keys that it counts, and what it writes first."""

    values: Values
    seen: Array
    writes: frozenset[Element]


def pictures(call: DrawnCall, target: str, machine: str | None) -> list[Picture]:
    """A picture for each block of a spec that has rows and keys, as programs of a target run a call.

    Where no launch chooses the tiles, small ones are pinned, of which some have more keys where rows are few.
    """
    known = {dim: call.dims[dim] for dim in feature_dims(call.spec)}
    declared = frozenset(call.spec.tensors)
    chosen = bool(target_of(target).chooses)

    @cache
    def lowered(**tiles: int) -> ModuleOp:
        spec = replace(call.spec, schedule={**tiles, **call.spec.schedule})
        return lower(spec, call.types, target, known, machine)[0]

    @cache
    def traced(rows: int, keys: int, splits: int) -> Trace:
        module = lowered() if chosen else lowered(tile_rows=rows, tile_keys=keys)
        choices = {ROWS: rows, KEYS: keys, SPLITS: splits}
        return trace(module, call.arrays, call.dims, call.params, choices, declared)

    splits = chosen and any(isinstance(op, tile.KernelOp) and op.form is not None for op in lowered().body.block.ops)
    return [_picture(block, rows, traced, splits) for block, rows in _rows_of(call) if rows and rows[0].seen.size]


def _rows_of(call: DrawnCall) -> list[tuple[Block, list[SeenRow]]]:
    """The rows of each block that has keys, as the reference computes a call."""
    reduces = {n: reductions_of(block) for n, block in enumerate(call.spec.blocks)}
    found: dict[int, list[SeenRow]] = {n: [] for n, each in reduces.items() if each}
    given = call_of(call.spec, call.arrays, call.params)

    def see(block: Block, row: Row) -> None:
        number = call.spec.blocks.index(block)
        if not reduces[number]:
            return
        seen = np.zeros([max(0, int(row.array(index.bound).value)) for index in block.over], bool)
        there = seen[tuple(slice(size) for size in row.sizes(block.over))]
        for reduce in reduces[number]:
            kept = row.kept(reduce)
            there |= along(kept.value, kept.axes, block.over)
        values = tuple(row.fixed[index] for index in block.each)
        writes = frozenset(element for write in block.writes for element in _first_element(row, write))
        found[number].append(SeenRow(values, seen.reshape(-1), writes))

    run(call.spec, given, see)
    return [(call.spec.blocks[n], _as_long(rows)) for n, rows in found.items()]


def reductions_of(block: Block) -> list[Reduce]:
    """What a block folds keys into."""
    return [expr for write in block.writes for expr in walk(write.value) if isinstance(expr, Reduce)]


def _as_long(rows: list[SeenRow]) -> list[SeenRow]:
    """Rows with as many keys as any of them may have."""
    longest = max((row.seen.size for row in rows), default=0)
    return [replace(row, seen=np.pad(row.seen, (0, longest - row.seen.size))) for row in rows]


def _first_element(row: Row, write: Write) -> list[Element]:
    """What a row writes first along features; nothing where that is out of range."""
    indices, inside = row.inside(write.tensor, write.indices)
    if not inside.value.size or not inside.value.flat[0]:
        return []
    return [(write.tensor.name, tuple(int(index.value.flat[0]) for index in indices))]


def _picture(block: Block, rows: list[SeenRow], traced: Callable[[int, int, int], Trace], splits: bool) -> Picture:
    variables = row_variables(block) or block.each[-1:]
    drawn, fixed = _one_head(block, rows, variables)
    size, keys = (_tile(count) for count in (len(drawn), len(drawn[0].seen)))
    held = _rows_a_place(traced(size, len(drawn[0].seen), 1), rows, drawn, size)
    whole = traced(size * held, keys, 1)
    drawn = _as_tiled(whole, rows, drawn)
    places = [block.each.index(index) for index in variables]
    places.sort(key=lambda place: sum(a.values[place] != b.values[place] for a, b in pairwise(drawn)))
    return Picture(
        block=block,
        rows=", ".join(block.each[place].name for place in places),
        keys=", ".join(index.name for index in block.over),
        fixed=fixed,
        seen=np.stack([row.seen for row in drawn]),
        whole=_walks(whole, block, rows, drawn),
        split=_walks(traced(size * held, keys, PARTS), block, rows, drawn) if splits else (),
    )


def _one_head(block: Block, rows: list[SeenRow], variables: Sequence[Index]) -> tuple[list[SeenRow], dict[str, int]]:
    """The rows that agree in all other variables: of those that are many the ones that see about half of the keys."""
    others = [place for place, index in enumerate(block.each) if index not in variables]
    heads: dict[Values, list[SeenRow]] = defaultdict(list)
    for row in rows:
        heads[tuple(row.values[place] for place in others)].append(row)
    most = max(map(len, heads.values()))

    def uneven(head: Values) -> float:
        return abs(float(np.mean([row.seen.mean() for row in heads[head]])) - 0.5)

    head = min((head for head, found in heads.items() if 2 * len(found) >= most), key=uneven)
    return heads[head], {block.each[place].name: value for place, value in zip(others, head, strict=True)}


def _as_tiled(trace: Trace, rows: list[SeenRow], drawn: list[SeenRow]) -> list[SeenRow]:
    """The rows that are drawn, those of a program together, as tiles have them."""
    number = {row.values: place for place, row in enumerate(drawn)}
    places = {at: number[values] for at, values in _places(trace, rows).items() if values in number}
    first: dict[int, int] = {}
    for (program, _), place in places.items():
        first[program] = min(place, first.get(program, place))
    order = {place: (first[at[0]], at[1]) for at, place in places.items()}
    return sorted(drawn, key=lambda row: order.get(number[row.values], (number[row.values], ())))


def _tile(count: int) -> int:
    """A power of two of which about TILES cover so many."""
    size = TILES
    while size * TILES < count:
        size *= 2
    return size


def _places(trace: Trace, rows: list[SeenRow]) -> dict[RowOfTile, Values]:
    """Which row of a block each row of a program is: the one that writes what is written for it."""
    owners: dict[Element, set[Values]] = defaultdict(set)
    for row in rows:
        for element in row.writes:
            owners[element].add(row.values)
    found = {}
    for at, elements in trace.writes.items():
        owned = {owner for element in elements for owner in owners.get(element, ()) if len(owners[element]) == 1}
        if len(owned) == 1:
            found[at] = next(iter(owned))
    return found


def _rows_a_place(trace: Trace, rows: list[SeenRow], drawn: list[SeenRow], size: int) -> int:
    """Of how many rows along a tile of `size` rows one is drawn, as of heads that share keys."""
    shown = {row.values for row in drawn}
    found = Counter(program for (program, _), values in _places(trace, rows).items() if values in shown)
    return max(1, size // max(found.values(), default=size))


def _walks(trace: Trace, block: Block, rows: list[SeenRow], drawn: list[SeenRow]) -> tuple[Walk, ...]:
    """What programs do of the rows that are drawn, in the order in which they start; of the first kernel that tells."""
    variable = "_".join(index.name for index in block.over)
    number = {row.values: place for place, row in enumerate(drawn)}
    of: dict[int, set[int]] = defaultdict(set)
    for (program, _), values in _places(trace, rows).items():
        if values in number:
            of[program].add(number[values])
    for kernel in (name for name, variables in trace.folds.items() if variable in variables):
        found = []
        parts: Counter[tuple[int, ...]] = Counter()
        for place in sorted(of):
            ran = trace.programs[place]
            if ran.kernel == kernel:
                held = tuple(sorted(of[place]))
                found.append(Walk(held, _tiles(ran, variable, drawn[0].seen.size), ran.start, parts[held]))
                parts[held] += 1
        if _tells(found, np.stack([row.seen for row in drawn])):
            return tuple(found)
    return ()


def _tells(walks: list[Walk], seen: Array) -> bool:
    """Whether walks are all that there is to tell: rows meet every key that they see, and see those of full tiles."""
    visited, full = np.zeros((2, *seen.shape), bool)
    for each in walks:
        for cut in each.tiles:
            visited[np.ix_(np.array(each.rows), cut.keys)] = True
            full[np.ix_(np.array(each.rows), cut.keys)] |= cut.kind == "full"
    rows = {row for each in walks for row in each.rows}
    return len(rows) == len(seen) and bool((visited | ~seen).all() and (seen | ~full).all())


def _tiles(program: TracedProgram, variable: str, keys: int) -> tuple[DrawnTile, ...]:
    turns = [turn for turn in program.turns if turn.variable == variable]
    found = []
    for turn in turns:
        there = turn.keys[(turn.keys >= 0) & (turn.keys < keys)]
        mixed = np.isin(there, [*turn.tested])
        found += [DrawnTile("full", there[~mixed]), DrawnTile("mixed", there[mixed])]
    return tuple(each for each in found if each.keys.size)
