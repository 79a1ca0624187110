"""How many keys a tile of a kernel with roles has: as many as registers and shared memory have room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_boxes import put_of
from attndsl.ir.analyses.role_parts import (
    CONSUMERS,
    EXCHANGED_STAGES,
    ROWS_OF_A_CONSUMER,
    STAGES,
    WIDE_CONSUMERS,
    WIDE_STAGES,
    NoRoles,
    Roled,
    Summed,
    element_of,
    features_of,
    size_of_axis,
)
from attndsl.ir.analyses.role_shares import after_loops, shares_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.machines import MACHINES
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import COPIED, RELAYED
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, arith

CONSUMER_REGISTERS = {CONSUMERS: 240, WIDE_CONSUMERS: 160}
"""A thread's of each of so many consumers: these leave the one warp that copies as few as there can be."""

MOST_REGISTERS = 192
"""What the tiles of a loop may take of a consumer's registers: with more it spills. Queries lie in shared memory."""

MOST_AHEAD, AHEAD_KEYS = 224, 64
"""What they may take where a turn makes the next one's scores besides, and the most keys of a tile there.

That is more: what were scores of the turn is weights by then, two to a register. Turns of more keys have longer
products, between which they wait less.
"""

MOST_HELD = 208
"""What they and queries may take where a turn of several scores takes these from registers.

At that a turn spills some: with 96 features gradients of keys and values still took 0.90 of the time of tiles of 64
keys without, under a causal mask, 0.85 in a window and 0.98 with softcap, but 1.12 of documents.
"""

KEPT_REGISTERS = 48
"""What of a thread's registers is left to numbers of rows, and to addresses, where queries lie in them, too.

As many again are left to places of rows that masks compare.
"""

OTHER_MEMORY = 1024
"""The bytes of shared memory that are left to barriers, and to sums over rows."""


FOLDED_FEATURES = 128
"""The features of keys and values whose products take as long as the exponents of their scores."""

HELD_KEYS = 64
"""The keys of a tile of several scores beside which queries lie in registers."""

LOADED_KEYS = 64
"""The keys of a tile where a role loads: what that computes with lies in registers, beside which consumers have fewer.

On an H200 keys and values of 8 bits took 0.78 of the time of tiles of 128 keys at 1024 keys under a causal mask, and
1.05 at 4096, and relative biases 0.96: of the larger ones, no registers had room for all.
"""


def choose_tiles(found: Roled) -> None:
    """The keys of a tile: as many as registers and shared memory have room for.

    Consumers share out rows, and sums where a row has too many of them for the registers of one.
    """
    choices = [op for op in operations(found.rows.parent_op() or found.rows) if isinstance(op, spec.ChoiceOp)]
    if any(op.divides is not None and (op is not found.folded.step.owner or not found.block) for op in choices):
        raise NoRoles("the keys of a tile must lie in one block")
    live = _live(found)
    fitting = _fitting(found.summing, live, found.rotates)
    if not fitting and found.rotates:
        found.shares = shares_of(found)
        fitting = min((_fitting(share, live) for share in found.shares), default=[])
    if not fitting:
        raise NoRoles("its tiles have no room in registers")
    if found.shares and (found.loaded or found.beside or found.ends):
        raise NoRoles("consumers share out sums, and some of what a turn reads is no box")
    if found.loaded:
        fitting = [keys for keys in fitting if keys == LOADED_KEYS]
    room = MACHINES["cuda:90"].shared
    least = 0 if found.shares or (found.beside and found.rotates) else 1
    fitting = [keys for keys in fitting if _memory(found, keys, least) <= room]
    if not fitting:
        raise NoRoles("its tiles have no room in shared memory")
    if HELD_KEYS in fitting and _turns_hold_queries(found):
        fitting = [HELD_KEYS]
    if found.beside and any(_memory(replace(found, beside_stages=STAGES), keys, least) <= room for keys in fitting[:1]):
        found.beside_stages = STAGES
    found.tile_keys = fitting[0]
    found.outboxes = _memory(found, fitting[0], 2) <= room
    found.scattered = _memory(found, fitting[0], 1) > room


def widened(found: Roled) -> Roled | None:
    """With a consumer more, where programs of more rows may be faster; else None.

    While two fold, the products of the third are under way. Each has fewer registers, which have room for tiles of few
    features, but not for queries, for where rows lie that threads load and store, or for numbers of each key. On an
    H200 heads of 64 took 0.85 to 0.95 of the time, with a log-sum-exp 0.91 to 0.93, with softcap 0.96 to 0.98, with
    sigmoid, which spills 34 registers in a turn at most, 0.95 to 0.98, of 32 0.89 to 0.94, where tiles of 192 rows
    leave neither rows nor processors over. Elsewhere a launch takes the others, so that both have to be there. ALiBi,
    which spilled 68, took 1.09 to 1.29, and grouped heads without a mask, which spilled before their turns, 0.97 to
    1.11; a gate does so, too, and was not timed. In no order heads of 64 took 0.91 to 0.95, under a causal mask 1.04 of
    4096 keys and 1.39 of 1024; 80, 96 and 128 features, in tiles of 64 keys, 1.09, 1.01 and 1.10. Four consumers, of
    120 registers each, in tiles of 64 keys took 1.5 to 1.9, and three in such tiles 0.98 to 1.10.
    """
    wide = replace(found, consumers=WIDE_CONSUMERS, stages=WIDE_STAGES)
    taken = _taken(found.summing, _live(found), found.tile_keys)
    fits = taken <= CONSUMER_REGISTERS[WIDE_CONSUMERS] and found.outboxes
    fits = fits and _memory(wide, found.tile_keys, 2) <= MACHINES["cuda:90"].shared
    pays = found.rows.bound is None and _are_copied(found) and not _makes_numbers_of_keys(found)
    return wide if fits and pays and goes_in_order(wide) else None


def holds_queries(found: Roled, registers: int = CONSUMER_REGISTERS[CONSUMERS]) -> bool:
    """Whether so many registers of a thread have room for queries beside the tiles of a turn.

    Turns of several scores have a limit of their own: no role loads for them, which would take registers.

    Products that take queries from there read half as much of shared memory: on an H200 heads of 128 took 0.93 to 1.01
    of the time without a mask, heads of 64 0.98. Where rows begin elsewhere than at the first key, turns are few
    beside what a tile begins with: windows took 1.04. Weights of the turn before are gone when those of this one are
    rounded.
    """
    if not found.rotates:
        return found.tile_keys <= HELD_KEYS and _turns_hold_queries(found)
    taken = _beside_queries(found, found.tile_keys) + found.tile_keys // 4 * found.part_rows // ROWS_OF_A_CONSUMER
    others = KEPT_REGISTERS * (2 if _masks_rows(found) else 1)
    return not found.shares and constant(found.loops[0].lb) == 0 and taken + others <= registers


def _turns_hold_queries(found: Roled) -> bool:
    """Whether turns of several scores have few keys, and take queries from registers.

    That pays where each tile of rows begins at a key of its own, as in a window, or as those for gradients of keys and
    values under a causal mask: of few turns several are mixed, and of a smaller tile less is masked. On an H200, of
    4096 keys, gradients of queries took 0.84 of the time in a window of 1024 with 128 features, 0.96 with 64 and 0.90
    with 96, of documents 0.90 and 0.89; those of keys and values of 64 features 0.91 in a window, 0.98 under a causal
    mask, 0.94 of 2048 keys and 0.87 of 1024, with softcap 0.88, of documents 0.67; those of 96 features, which spilled
    with 128 keys, 0.65 in a window and 0.64 under a causal mask. Without a mask 64 features took 1.03, and gradients of
    queries under a causal mask, whose turns begin at the first key, 1.03 to 1.08.
    """
    if found.rotates or found.adding or found.rows.result not in _made_of(found.loops[0].lb):
        return False
    return _beside_queries(found, HELD_KEYS) <= MOST_HELD


def _beside_queries(found: Roled, keys: int) -> int:
    """What of a thread's registers queries, sums and the tiles of a turn of so many keys take."""
    live = _live(found)
    asked, own = features_of(found.scoring) // 4, features_of(found.summing) // 2
    return (own + live * keys // 2 + asked) * found.part_rows // ROWS_OF_A_CONSUMER


def goes_in_order(found: Roled) -> bool:
    """Whether consumers begin their products one after the other, so that one folds while the matrix unit is another's.

    That pays where a turn's products, of 16 features a cycle for 64 rows and 2 keys, take no longer than its exponents
    of 2, 16 a cycle, and where all rows have as many keys: on an H200 heads of 64 took 0.95 to 0.97 of the time, of 32
    0.87, and 1.06 under a causal mask, whose consumers are done at different times; heads of 128 took 1.00 to 1.02.
    Where data say how many keys rows have, it gained nothing.
    """
    alike = found.rotates and not (found.shares or found.loaded or found.beside or found.is_told or _masks_rows(found))
    return alike and found.row_parts > 1 and features_of(found.products) <= FOLDED_FEATURES


def scores_ahead(found: Roled) -> bool:
    """Whether a turn of several scores makes the first of the next one behind its own sums, where registers have room.

    So the matrix unit goes on while a consumer waits for its sums: on an H200 the sums of keys and values, of 128
    features, took 0.88 of the time. With tiles of 128 keys, of 64 features, they took 1.12, and sums of queries 1.05.
    """
    own = features_of(found.summing) // 2 + (_most_live(found) + 1) * AHEAD_KEYS // 2
    fits = found.stages > 1 and found.tile_keys <= AHEAD_KEYS and own <= MOST_AHEAD
    return fits and not (found.rotates or found.adding or holds_queries(found))


def first_are_longest(found: Roled) -> bool:
    """Whether later rows have fewer keys: where those of a row begin rests on it, and all end at once."""
    axes, loop = AxesAnalysis(), found.folded
    return bool(axes(loop.row_start)) and not axes(loop.row_stop)


def asks_each_tile(found: Roled) -> bool:
    """Whether one loop over all tiles but the first asks of each whether it masks, and not a loop for either kind.

    Then a turn is written once less: what consumers go through in a tile of rows is more than a cache of instructions
    holds, and they wait for the rest. That pays where turns are few and several are mixed, as where each tile of rows
    has its own first key: on an H200 documents took 0.95 to 0.98 of the time with 128 features, 0.97 to 1.01 with 64,
    windows 0.95 to 0.99 and 0.98 to 1.01; causal heads, of which one tile is mixed, 1.01 to 1.06.
    """
    return found.rotates and len(found.loops) == 2 and found.rows.result in _made_of(found.loops[0].lb)


def is_looked_up(found: Roled) -> bool:
    """Whether data were looked through for where the keys of each tile of rows begin, or end."""
    return any(_is_looked_up(found, end) for loop in found.loops for end in (loop.lb, loop.ub))


def _is_looked_up(found: Roled, end: SSAValue) -> bool:
    return any(isinstance(value.owner, tile.LoadOp) and found.rows.result in _made_of(value) for value in _made_of(end))


def _made_of(value: SSAValue) -> set[SSAValue]:
    """All that a value is computed of, what it reads and where included, itself among it."""
    stack, seen = [value], set[SSAValue]()
    while stack:
        if (top := stack.pop()) not in seen:
            seen.add(top)
            stack += top.owner.operands if isinstance(top.owner, Operation) else ()
    return seen


def _masks_rows(found: Roled) -> bool:
    """Whether a mask, also one that full tiles have, asks for more than that a key is there: then rows differ."""
    axes = AxesAnalysis()
    assert found.folded.axis is not None
    both = {found.row_axis.result, found.folded.axis.result}
    asked = [op.cond for op in found.folded.body.block.ops if isinstance(op, arith.SelectOp)]
    return any(both <= axes(condition) for condition in asked)


def _are_copied(found: Roled) -> bool:
    """Whether all tiles of rows are boxes of one head: threads have no registers for where what they load lies."""
    axes, row = AxesAnalysis(), found.row_axis.result
    stores = [op for op in after_loops(found) if isinstance(op, tile.StoreOp) and len(axes(op.value)) == 2]
    puts = [put_of(op, row, axes) for op in stores]
    boxes = [*found.queries, *(put.box for put in puts if put is not None)]
    copied = bool(found.queries) and None not in puts and not _read(found)
    return copied and all(box.heads is None for box in boxes)


def _makes_numbers_of_keys(found: Roled) -> bool:
    """Whether a turn of full tiles makes numbers of each key, as of where it is, beside what is `made` of scores."""
    axes, axis = AxesAnalysis(), found.folded.axis
    assert axis is not None
    made, numbers = set[SSAValue](), list[SSAValue]()
    for op in found.folded.body.block.ops:
        if isinstance(op, tile.DotOp) or not made.isdisjoint(op.operands):
            made.update(op.results)
        elif is_elementwise(op) and op not in (found.tested | found.placed):
            numbers += [value for value in op.operands if axis.result in axes(value)]
    return bool(numbers)


def _fitting(sums: Sequence[Summed], live: int, rotates: bool = True) -> list[int]:
    """How many keys a tile may have for registers."""
    return [keys for keys in (128, 64) if _taken(sums, live, keys, rotates) <= MOST_REGISTERS]


def _taken(sums: Sequence[Summed], live: int, keys: int, rotates: bool = True) -> int:
    """What of a thread's registers tiles of so many keys take: it has a 128th of 64 rows.

    Sums, scores, and weights, two to a register, of this turn and of the one before, where its sums run on.
    """
    return features_of(sums) // 2 + (live + rotates) * keys // 2


def _memory(found: Roled, keys: int, results: int) -> int:
    """The bytes of shared memory that a program takes whose tiles have so many keys.

    A number of a row's `results` takes so many bytes: 2 in an outbox, where each store has its own, 1 where it passes
    through half as much as they are laid out, and none where they are scattered.
    """
    multiplied, summed = features_of(found.scoring), features_of(found.summing)
    copied = multiplied + summed
    handed = 0
    if found.shares or not found.rotates:
        # What is a key and a value is copied once.
        copied = sum({each.box.value: size_of_axis(each.box.features) for each in found.products}.values())
    if found.shares:
        # Weights are handed on, and numbers of each row.
        handed = found.tile_rows * (2 * keys + 4 * (1 + len(found.kept)))
    # What is read for the rows after the loops passes through memory, too, half as much as it is, and one at a time.
    passed = max(_read(found), summed if results == 1 else 0)
    rows = found.tile_rows * (2 * multiplied + passed + (2 * _stored(found) if results == 2 else 0))
    # What masks read passes through memory, 8 bytes of each key at most, from threads that read it to all others.
    masks = 8 * keys * found.row_parts * sum(isinstance(op, tile.LoadOp) for op in found.tested)
    fed = sum(size_of_axis(box.features) * COPIED[element_of(box.value)] for box in found.fed)
    turns = found.stages * keys * (2 * copied + fed)
    return rows + turns + handed + masks + _beside(found, keys) + _added(found, keys) + OTHER_MEMORY


def _added(found: Roled, keys: int) -> int:
    """The bytes of what consumers exchange, and of what they add up, which waits in memory to be added."""
    exchanged = found.tile_rows * keys * 2 * EXCHANGED_STAGES
    return sum(exchanged + 4 * keys * size_of_axis(each.features) for each in found.adding)


def _beside(found: Roled, keys: int) -> int:
    """The bytes of what a turn reads beside keys and values: each consumer has stages of its own.

    Numbers that the role that copies hands on to all are floats.
    """
    axes, total = AxesAnalysis(), 0
    if not found.rotates:
        return 4 * keys * found.stages * len(found.beside)
    for each in found.beside:
        rows = found.part_rows if found.row_axis.result in axes(each.value) else 1
        total += rows * keys * RELAYED[element_of(each.value)]
    return total * found.row_parts * found.beside_stages


def _read(found: Roled) -> int:
    """How many features the widest tile has that is read for the rows after the loops."""
    axes, row = AxesAnalysis(), found.row_axis.result
    loads = [op for op in after_loops(found) if isinstance(op, tile.LoadOp)]
    widths = [size_of_axis(axis) for op in loads if row in axes(op.result) for axis in axes(op.result) - {row}]
    return max(widths, default=0)


def _stored(found: Roled) -> int:
    """How many features all stores of tiles of rows have."""
    axes, row = AxesAnalysis(), found.row_axis.result
    tiles = [axes(op.value) - {row} for op in after_loops(found) if isinstance(op, tile.StoreOp)]
    return sum(size_of_axis(axis) for own in tiles for axis in own)


def _live(found: Roled) -> int:
    """How many tiles of a row and a key a turn has at once: its scores all begin before any of them is folded."""
    return max(_most_live(found) + _quotients(found), len(found.scores))


def _quotients(found: Roled) -> int:
    """How many tiles quotients take that a turn computes of the places of keys: what is no sum is not made again.

    Each takes one, and another while it is compared.
    """
    axes, axis = AxesAnalysis(), found.folded.axis
    body = [op for op in found.folded.body.block.ops if op not in found.placed]
    divisions = [op for op in body if isinstance(op, arith.FloorDivSIOp | spec.ModOp)]
    return 2 * sum(axis is not None and axis.result in axes(op.results[0]) for op in divisions)


def _in_turn(found: Roled) -> list[Operation]:
    """The operations of a turn as it does them: what rests on its first scores alone before what waits for others."""
    body, number = list(found.folded.body.block.ops), {score: n for n, score in enumerate(found.scores)}
    after: dict[SSAValue, int] = {}
    for op in body:
        last = max((after[value] for value in op.operands if value in after), default=0)
        after |= {value: number.get(value, last) for value in op.results}
    return sorted(body, key=lambda op: max((after.get(value, 0) for value in (*op.operands, *op.results)), default=0))


def _most_live(found: Roled) -> int:
    """How many tiles made of scores a turn has at once, at most; what is made of places alone is made again.

    With several scores those count that a product waits for, or that wait for a product: of others a thread makes one
    number after the other.
    """
    body = _in_turn(found)
    place = {op: n for n, op in enumerate(body)}
    axes, made, most = AxesAnalysis(), [*found.scores], 1
    live: dict[SSAValue, int] = {}
    for n, op in enumerate(body):
        for value in op.results:
            rests = value in made or any(operand in made for operand in op.operands)
            if rests and len(axes(value)) == 2 and not any(op is each.dot for each in (*found.summing, *found.adding)):
                made.append(value)
                live[value] = max((place[use.operation] for use in value.uses if use.operation in place), default=n)
        if found.rotates or isinstance(op, tile.DotOp):
            most = max(most, sum(last > n for last in live.values()))
    return most
