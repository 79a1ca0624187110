"""How many keys a tile of a kernel with roles has: as many as registers and shared memory have room for."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_parts import NoRoles, Roled, Summed, features_of, size_of_axis
from attndsl.ir.analyses.role_shares import after_loops, shares_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.machines import MACHINES
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import SSAValue, arith

MOST_REGISTERS = 192
"""What the tiles of a loop may take of a thread's 240 registers: with more it spills. Queries lie in shared memory."""

OTHER_MEMORY = 1024
"""The bytes of shared memory that are left to barriers, and to sums over rows."""


def choose_tiles(found: Roled) -> None:
    """The keys of a tile: as many as registers and shared memory have room for.

    Consumers share out rows, and sums where a row has too many of them for the registers of one.
    """
    choices = [op for op in operations(found.rows.parent_op() or found.rows) if isinstance(op, spec.ChoiceOp)]
    if any(op.divides is not None and (op is not found.folded.step.owner or not found.block) for op in choices):
        raise NoRoles("the keys of a tile must lie in one block")
    live = _most_live(found) + _quotients(found)
    fitting = _fitting(found.summing, live)
    if not fitting:
        found.shares = shares_of(found)
        fitting = min((_fitting(share, live) for share in found.shares), default=[])
    if not fitting:
        raise NoRoles("its tiles have no room in registers")
    room = MACHINES["cuda:90"].shared
    least = 0 if found.shares else 1
    fitting = [keys for keys in fitting if _memory(found, keys, least) <= room]
    if not fitting:
        raise NoRoles("its tiles have no room in shared memory")
    found.tile_keys = fitting[0]
    found.outboxes = _memory(found, fitting[0], 2) <= room
    found.scattered = _memory(found, fitting[0], 1) > room


def _fitting(sums: Sequence[Summed], live: int) -> list[int]:
    """How many keys a tile may have for registers: a thread has a 128th of 64 rows.

    Sums, scores, and weights, two to a register, of this turn and of the one before.
    """
    own = features_of(sums) // 2
    return [keys for keys in (128, 64) if own + live * keys // 2 + keys // 2 <= MOST_REGISTERS]


def _memory(found: Roled, keys: int, results: int) -> int:
    """The bytes of shared memory that a program takes whose tiles have so many keys.

    A number of a row's `results` takes so many bytes: 2 in an outbox, where each store has its own, 1 where it passes
    through half as much as they are laid out, and none where they are scattered.
    """
    multiplied, summed = features_of(found.scoring), features_of(found.summing)
    copied = multiplied + summed
    handed = 0
    if found.shares:
        # What is a key and a value is copied once. Weights are handed on, and numbers of each row.
        copied = sum({each.box.load: size_of_axis(each.box.features) for each in found.products}.values())
        handed = found.tile_rows * (2 * keys + 4 * (1 + len(found.kept)))
    if results == 2:
        summed = _stored(found)
    rows = found.tile_rows * (2 * multiplied + results * summed)
    # What masks read passes through memory, 8 bytes of each key at most, from threads that read it to all others.
    masks = 8 * keys * found.row_parts * sum(isinstance(op, tile.LoadOp) for op in found.tested)
    return rows + 2 * found.stages * keys * copied + handed + masks + OTHER_MEMORY


def _stored(found: Roled) -> int:
    """How many features all stores of tiles of rows have."""
    axes, row = AxesAnalysis(), found.row_axis.result
    tiles = [axes(op.value) - {row} for op in after_loops(found) if isinstance(op, tile.StoreOp)]
    return sum(size_of_axis(axis) for own in tiles for axis in own)


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
