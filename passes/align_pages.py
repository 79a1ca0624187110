"""align-pages: a tile of keys lies in one page, so that its page is looked up once.

Why: `table[b, j / S]` gathers a page for each key, and keys are then read through as many addresses. Where S is a
number, tiles that divide it and start at a multiple of their size never cross a page: j / S is the same for a whole
tile, the page is one number, and the tile one block of memory.

Before:

    spec.tensor @x "input" "f32" ["P", "64"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = spec.choice "KEYS"
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %S = arith.constant 64 : index
      %N = spec.dim "L"
      %M = spec.dim "M"
      %one = arith.constant 1 : index
      %i = tile.program "i" to %M step %one
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.lane "j" from %j0 to %end size %keys
        %page = arith.floordivsi %j, %S : index
        %place = spec.mod %j, %S
        %table = tile.load @table[%page] : index
        %v = tile.load @x[%table, %place] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["P", "64"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = spec.choice "KEYS" divides 64 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %S = arith.constant 64 : index
      %N = spec.dim "L"
      %M = spec.dim "M"
      %one = arith.constant 1 : index
      %i = tile.program "i" to %M step %one
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.lane "j" from %j0 to %end size %keys
        %page = arith.floordivsi %j0, %S : index
        %start = spec.mod %j0, %S
        %after = arith.subi %j, %j0 : index
        %place = arith.addi %start, %after : index
        %table = tile.load @table[%page] : index
        %v = tile.load @x[%table, %place] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

Pages whose size is no multiple of 32 are left: tiles that divide it would be too small to keep a matrix unit busy.

Requires: tile{whole=true}, specialise for the size of a page. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TypeGuard

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant, insert_before, replace
from attndsl.ir.spread import keep_lanes
from attndsl.ir.xdsl import Block, Context, IntegerAttr, ModuleOp, ModulePass, Operation, SSAValue, arith, index

SMALLEST = 32
"""The least page whose tiles are worth having."""


@dataclass(frozen=True)
class AlignPages(ModulePass):
    """Keeps tiles of keys within pages of a known size."""

    name = "align-pages"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = [_align(loop) for loop in list(op.walk()) if isinstance(loop, tile.LoopOp)]
        if any(changed):
            keep_lanes(op)


def _align(loop: tile.LoopOp) -> bool:
    lane, choice = loop.lane, loop.step.owner
    if lane is None or not isinstance(choice, spec.ChoiceOp) or lane.start is not loop.body.block.args[0]:
        return False
    divisions = [use.operation for use in lane.result.uses if _finds_page(use.operation, lane.result)]
    if not divisions or not _is_multiple(loop.lb, loop.step):
        return False
    known = choice.divides.value.data if choice.divides is not None else 0
    choice.divides = IntegerAttr(gcd(known, *(int(constant(op.rhs) or 0) for op in divisions)), index)
    for op in divisions:
        _divide_start(op, lane)
    for load in [op for op in loop.body.block.ops if isinstance(op, tile.LoadOp)]:
        _read_once(load, lane, loop)
    return True


def _finds_page(op: Operation, key: SSAValue) -> TypeGuard[arith.FloorDivSIOp | spec.ModOp]:
    """Whether an operation divides a key position by a number that can be the size of a page."""
    if not isinstance(op, arith.FloorDivSIOp | spec.ModOp) or op.lhs is not key:
        return False
    size = int(constant(op.rhs) or 0)
    return size > 0 and size % SMALLEST == 0


def _divide_start(op: arith.FloorDivSIOp | spec.ModOp, lane: tile.LaneOp) -> None:
    """Divides a tile's first key in the place of each."""
    if isinstance(op, arith.FloorDivSIOp):
        op.operands[0] = lane.start
        return
    start = insert_before(op, spec.ModOp(lane.start, op.rhs))
    after = insert_before(op, arith.SubiOp(lane.result, lane.start))
    replace(op, [insert_before(op, arith.AddiOp(start, after), op.result.name_hint)])


def _read_once(load: tile.LoadOp, lane: tile.LaneOp, loop: tile.LoopOp) -> None:
    """Asks no longer which keys lie before the loop's end, where all read the same: the first one does."""
    if load.where is None or lane.result in frozenset[SSAValue]().union(*map(AxesAnalysis(), load.indices)):
        return
    conditions = conjuncts(load.where)
    others = [c for c in conditions if not _is_before_end(c, lane, loop)]
    if len(others) < len(conditions):
        where = conjunction(others, load)
        replace(load, [insert_before(load, tile.LoadOp(load.tensor, load.indices, where, load.result.type))])


def _is_before_end(condition: SSAValue, lane: tile.LaneOp, loop: tile.LoopOp) -> bool:
    """Whether a condition is that keys lie before the end of the loop."""
    op = condition.owner
    if not isinstance(op, arith.CmpiOp) or predicate(op) != "sgt":
        return False
    return op.lhs is loop.ub and op.rhs is lane.result


def _is_multiple(value: SSAValue, size: SSAValue) -> bool:
    """Whether a number is a multiple of a tile's size, be it 0."""
    if value is size or constant(value) == 0:
        return True
    op = value.owner
    match op:
        case Block():
            loop = op.parent_op()
            steps = isinstance(loop, tile.LoopOp) and value is op.args[0]
            return steps and _is_multiple(loop.lb, size) and _is_multiple(loop.step, size)  # type: ignore[union-attr]
        case arith.MuliOp():
            return any(_is_multiple(v, size) for v in op.operands)
        case arith.AddiOp() | arith.SubiOp() | arith.MinSIOp() | arith.MaxSIOp():
            return all(_is_multiple(v, size) for v in op.operands)
        case arith.SelectOp():
            return all(_is_multiple(v, size) for v in (op.lhs, op.rhs))
    return False
