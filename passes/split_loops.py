"""split-loops: tiles of keys that are taken whole run in a loop of their own, without a test.

Why: most tiles of a causal mask, a window or a long row lie wholly inside what a row sees. There a comparison with
the row's ends is always true: no mask is computed, no read is guarded, no score selected. What is left over at the
ends runs in a second loop, with all tests. Both fold into the same state, so their order does not matter.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %i = tile.program "i" to %M step %keys
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %in = arith.cmpi sgt, %N, %j : index
        %v = tile.load @x[%j] where %in : f32
        %v1 = arith.select %in, %v, %low : f32
        %largest = tile.max %v1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %i = tile.program "i" to %M step %keys
      %left = arith.subi %N, %zero : index
      %zero1 = arith.constant 0 : index
      %length = arith.maxsi %left, %zero1 : index
      %tiles = arith.floordivsi %length, %keys : index
      %covered = arith.muli %tiles, %keys : index
      %full_stop = arith.addi %zero, %covered : index
      %t0 = tile.loop full %j0 = %zero to %full_stop step %keys rows from %zero to %N iter_args(%m = %low) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %true = arith.constant true
        %in = tile.broadcast %true over (%j) : i1 to i1
        %v = tile.load @x[%j] where %in : f32
        %v1 = arith.select %in, %v, %low : f32
        %largest = tile.max %v1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      %t = tile.loop mixed stages 1 %j0 = %full_stop to %N step %keys rows from %zero to %N
          iter_args(%m = %t0) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %in = arith.cmpi sgt, %N, %j : index
        %v = tile.load @x[%j] where %in : f32
        %v1 = arith.select %in, %v, %low : f32
        %largest = tile.max %v1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A loop is split where its tiles are of a fixed size and comparisons in it are intervals of the key, with ends that the
loop does not change, or where a tile.holds says of a condition that it holds in such an interval. Where rows have
different ends, full tiles lie between the last start and the first stop. Where there are starts, the second loop jumps
over the full tiles: it runs before and after them. Where ends differ by no more than rows do, the second loop has a
tile or two: with one stage, since what gets tiles ready ahead of it would take longer than it saves.

Requires: tile{fixed=true}. Ensures: no tile.holds is left. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.clip import not_far_above, not_far_below
from attndsl.ir.exactness import Exactness
from attndsl.ir.intervals import Bounds
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import copied, index_constant, insert_before, remove_dead, replace
from attndsl.ir.settled import over_rows, settle, settled_in
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.xdsl import (
    Context,
    IntegerAttr,
    ModuleOp,
    ModulePass,
    Operation,
    SSAValue,
    StringAttr,
    arith,
    index,
)


@dataclass(frozen=True)
class SplitLoops(ModulePass):
    """Splits every loop over tiles of keys of a fixed size into one over full tiles and one over the others."""

    name = "split-loops"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                facts = Facts(kernel.body.block)
                for loop in [o for o in kernel.body.block.ops if isinstance(o, tile.LoopOp)]:
                    _split(loop, facts)
                for holds in of_kind(kernel, tile.HoldsOp):
                    replace(holds, [])
        remove_dead(op)


def _split(loop: tile.LoopOp, facts: Facts) -> None:
    axis = loop.axis
    if axis is None or loop.tiles is not None or not _is_fixed(axis, loop):
        return
    settled = settled_in(loop, axis, facts)
    if not settled:
        return
    starts = [bounds.lower for bounds in settled.values() if bounds.lower is not None]
    stops = [bounds.upper for bounds in settled.values() if bounds.upper is not None]
    start = _full_start(loop, starts, facts)
    covered = _covered(loop, start, stops, facts)
    stop = insert_before(loop, arith.AddiOp(start, covered), "full_stop")
    full, kernel = copied(loop), loop.parent_op()
    assert isinstance(kernel, tile.KernelOp)
    kernel.body.block.insert_op_before(full, loop)
    ordered = enumerate(operations(kernel))
    positions: dict[SSAValue, int] = {result: n for n, op in ordered for result in op.results}
    copies = dict(zip(loop.walk(), full.walk(), strict=True))
    for condition in settled:
        settle(copies[condition], True, positions)
    full.operands[0], full.operands[1] = start, stop
    for n, result in enumerate(full.results):
        loop.operands[3 + n] = result
    full.tiles, loop.tiles = StringAttr("full"), StringAttr("mixed")
    if _is_brief(settled):
        loop.stages = IntegerAttr(1, index)
    if starts:
        _jump(loop, start, covered)
    else:
        loop.operands[0] = stop


def _is_fixed(axis: tile.RangeOp, loop: tile.LoopOp) -> bool:
    """Whether an axis has a tile's keys, all of them."""
    end = axis.stop.owner
    starts = axis.start is loop.body.block.args[0] and axis.size is loop.step
    return starts and isinstance(end, arith.AddiOp) and {end.lhs, end.rhs} == {axis.start, axis.size}


def _is_brief(settled: dict[Operation, Bounds]) -> bool:
    """Whether ends differ within a tile by no more than rows do, so that few tiles are left beside the full ones."""
    ends = [end for bounds in settled.values() for end in (bounds.lower, bounds.upper) if end is not None]
    read = any(isinstance(use.operation, tile.HoldsOp) for op in settled for use in op.results[0].uses)
    axes = AxesAnalysis()
    return not read and all(_is_near(end, axes) for end in ends)


def _is_near(end: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether a number grows no faster along a tile than its rows, and with no data."""
    op = end.owner
    if not axes(end) or isinstance(op, tile.RangeOp):
        return True
    near = arith.AddiOp | arith.SubiOp | arith.MinSIOp | arith.MaxSIOp | arith.FloorDivSIOp | arith.SelectOp
    return isinstance(op, near) and all(_is_near(value, axes) for value in op.operands if value.type == index)


def _full_start(loop: tile.LoopOp, starts: Sequence[SSAValue], facts: Facts) -> SSAValue:
    """The first key of the first tile, counted from where the loop begins, that all rows see from its first key on."""
    low, size = loop.lb, loop.step
    if not starts:
        return low
    latest = over_rows(loop, starts, arith.MaxSIOp, tile.MaxOp)
    latest = not_far_above(latest, loop.ub, loop, facts.ranges)
    length = _distance(loop, low, latest, facts)
    rounded = insert_before(loop, arith.SubiOp(insert_before(loop, arith.AddiOp(length, size)), _one(loop)))
    return insert_before(loop, arith.AddiOp(low, _whole_tiles(loop, rounded)), "full_start")


def _covered(loop: tile.LoopOp, start: SSAValue, stops: Sequence[SSAValue], facts: Facts) -> SSAValue:
    """How many keys the full tiles have, from `start` on."""
    earliest = over_rows(loop, list(dict.fromkeys([*stops, loop.ub])), arith.MinSIOp, tile.MinOp)
    return _whole_tiles(loop, _distance(loop, start, earliest, facts), "covered")


def _distance(loop: tile.LoopOp, start: SSAValue, end: SSAValue, facts: Facts) -> SSAValue:
    """How far an end is from a start, which is not negative; 0 where it is before it, however far."""
    difference = insert_before(loop, arith.SubiOp(not_far_below(end, loop, facts.ranges), start))
    return insert_before(loop, arith.MaxSIOp(difference, _zero(loop)))


def _whole_tiles(loop: tile.LoopOp, length: SSAValue, hint: str | None = None) -> SSAValue:
    """The keys of the tiles that a length, which is not negative, holds whole."""
    tiles = insert_before(loop, arith.FloorDivSIOp(length, loop.step))
    return insert_before(loop, arith.MuliOp(tiles, loop.step), hint)


def _jump(loop: tile.LoopOp, start: SSAValue, covered: SSAValue) -> None:
    """Lets a loop run over the tiles before `start` and over those that are `covered` keys after it."""
    variable, first = loop.body.block.args[0], loop.body.block.first_op
    assert first is not None
    beyond = insert_before(first, arith.AddiOp(variable, covered))
    before = insert_before(first, arith.CmpiOp(variable, start, "slt"))
    key = insert_before(first, arith.SelectOp(before, variable, beyond), variable.name_hint)
    variable.name_hint = "step"
    for use in list(variable.uses):
        if use.operation not in (beyond.owner, before.owner, key.owner):
            use.operation.operands[use.index] = key
    loop.operands[1] = insert_before(loop, arith.SubiOp(loop.ub, covered))


def _zero(anchor: Operation) -> SSAValue:
    return insert_before(anchor, index_constant(0))


def _one(anchor: Operation) -> SSAValue:
    return insert_before(anchor, index_constant(1))
