"""Which tiles of a kernel can share a home, as data, and the statements that say that they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import arrangement
from attndsl.ir.analyses.liveness import Liveness
from attndsl.ir.rewrite import copy_before
from attndsl.ir.sizes import size_of
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Attribute, Operation, SSAValue


@dataclass(frozen=True)
class Proposal:
    """A home of one element type, with axes of so many elements, and its tiles, each with its axes as these axes."""

    element: Attribute
    sizes: tuple[SSAValue, ...]
    tiles: Mapping[SSAValue, tuple[SSAValue, ...]]


def _size(axis: SSAValue) -> SSAValue:
    assert isinstance(axis.owner, tile.RangeOp)
    return axis.owner.size


def propose(
    kernel: tile.KernelOp, wanted: Callable[[Operation], bool], size: Callable[[SSAValue], SSAValue] = _size
) -> list[Proposal]:
    """Homes for the tiles of the operations that are `wanted`, with the `size` that a home needs for each axis.

    Tiles share one where they have the same sizes and are never needed at once. A tile has none whose sizes a call does
    not know, or that a loop makes anew while the one before is still read. Axes lie as they do in tiles.
    """
    liveness = Liveness(kernel)
    order = arrangement(kernel)
    homes: dict[object, list[dict[SSAValue, tuple[SSAValue, ...]]]] = {}
    known = cache(lambda axis: size_of(size(axis)))
    for op in operations(kernel):
        if op.regions or len(op.results) != 1 or isinstance(op, tile.RangeOp) or not wanted(op):
            continue
        value = op.results[0]
        axes = tuple(sorted(liveness.axes(value), key=order.__getitem__))
        sizes = tuple(map(known, axes))
        if not axes or None in sizes or liveness.clash(value, value):
            continue
        alike = homes.setdefault((value.type, sizes), [])
        near = sorted(alike, key=lambda tiles: tiles.keys().isdisjoint(op.operands))
        free = next((tiles for tiles in near if not any(liveness.clash(value, other) for other in tiles)), None)
        if free is None:
            alike.append(free := {})
        free[value] = axes
    found = [tiles for alike in homes.values() for tiles in alike]
    return [Proposal(next(iter(t)).type, tuple(map(size, next(iter(t.values())))), t) for t in found]


def begin_of(kernel: tile.KernelOp) -> Operation:
    """The first program of a kernel, or where it has none the first loop."""
    ops = list(kernel.body.block.ops)
    return next((op for op in ops if isinstance(op, tile.ProgramOp | tile.LoopOp)), ops[0])


def assign(kernel: tile.KernelOp, proposals: Iterable[Proposal]) -> None:
    """Declares homes before the programs of a kernel, behind what all threads share; says which tiles live there."""
    begin = begin_of(kernel)
    ops = list(kernel.body.block.ops)
    copies: dict[SSAValue, SSAValue] = {result: result for op in ops[: ops.index(begin)] for result in op.results}
    for number, proposal in enumerate(proposals):
        sizes = [copy_before(begin, size, copies) for size in proposal.sizes]
        home = tile.HomeOp("scratch" if number == 0 else f"scratch_{number + 1}", sizes, proposal.element)
        home.location = begin.location
        kernel.body.block.insert_op_before(home, begin)
        for value, axes in proposal.tiles.items():
            into = tile.IntoOp(home.sym_name.data, axes, value)
            maker = into.maker
            into.location = maker.location
            assert maker.parent is not None
            maker.parent.insert_op_after(into, maker)
