"""align-quotients: a tile of keys has one quotient j / S, so that what that indexes is read once.

Why: `table[b, j / S]` is a gather, an element for each key, and what it gives indexes as many addresses. Where S is a
number, tiles that divide it and start at a multiple of their size never cross a multiple of S: j / S is the same for a
whole tile, the element is one, and the tile one block of memory. So a page table is read once for a tile.

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
        %j = tile.range "j" from %j0 to %end size %keys
        %block = arith.floordivsi %j, %S : index
        %place = spec.mod %j, %S
        %table = tile.load @table[%block] : index
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
        %j = tile.range "j" from %j0 to %end size %keys
        %block = arith.floordivsi %j0, %S : index
        %start = spec.mod %j0, %S
        %after = arith.subi %j, %j0 : index
        %place = arith.addi %start, %after : index
        %table = tile.load @table[%block] : index
        %v = tile.load @x[%table, %place] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A loop that begins elsewhere, as that of a window does, begins at the last multiple of its tiles before that, where its
rows know where their keys start: they leave out what is before. A divisor that is no multiple of 32 is left: tiles that
divide it would be too small to keep a matrix unit busy.

Requires: tile{fixed=true}, specialise for a divisor that is a dim. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TypeGuard

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import is_multiple
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.broadcast import keep_axes
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant, insert_before, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Context, IntegerAttr, ModuleOp, ModulePass, Operation, SSAValue, arith, index

SMALLEST = 32
"""The least divisor whose tiles are worth having."""

LEAST_BLOCK = 16
"""The least divisor whose multiples tiles begin at: a role copies so many keys at once."""


@dataclass(frozen=True)
class AlignQuotients(ModulePass):
    """Keeps the quotient of a key by a known number the same within a tile."""

    name = "align-quotients"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = [_align(loop) for loop in of_kind(op, tile.LoopOp)]
        if any(changed):
            keep_axes(op, AxesAnalysis())


def _align(loop: tile.LoopOp) -> bool:
    axis, choice = loop.axis, loop.step.owner
    if axis is None or not isinstance(choice, spec.ChoiceOp) or axis.start is not loop.body.block.args[0]:
        return False
    divisions = [use.operation for use in axis.result.uses if _divides_key(use.operation, axis.result)]
    aligned = is_multiple(loop.lb, loop.step)
    if not aligned and any(_divides_key(use.operation, axis.result, LEAST_BLOCK) for use in axis.result.uses):
        aligned = _begin_before(loop)
    if not divisions or not aligned:
        return False
    known = choice.divides.value.data if choice.divides is not None else 0
    choice.divides = IntegerAttr(gcd(known, *(int(constant(op.rhs) or 0) for op in divisions)), index)
    for op in divisions:
        _divide_start(op, axis)
    for load in [op for op in loop.body.block.ops if isinstance(op, tile.LoadOp)]:
        _read_once(load, axis, loop)
    return True


def _begin_before(loop: tile.LoopOp) -> bool:
    """Lets a loop whose rows know where their keys start begin at a multiple of its tiles before; whether it may.

    Where keys are split, what is before a start is of another split.
    """
    kernel = loop.parent_op()
    if not isinstance(kernel, tile.KernelOp) or kernel.form is None or kernel.form.data != "whole":
        return False
    if loop.row_start is loop.lb:
        return False
    tiles = insert_before(loop, arith.FloorDivSIOp(loop.lb, loop.step))
    loop.operands[0] = insert_before(loop, arith.MuliOp(tiles, loop.step), loop.lb.name_hint)
    return True


def _divides_key(op: Operation, key: SSAValue, least: int = SMALLEST) -> TypeGuard[arith.FloorDivSIOp | spec.ModOp]:
    """Whether an operation divides a key position by a number that has tiles worth having."""
    if not isinstance(op, arith.FloorDivSIOp | spec.ModOp) or op.lhs is not key:
        return False
    size = int(constant(op.rhs) or 0)
    return size > 0 and size % least == 0


def _divide_start(op: arith.FloorDivSIOp | spec.ModOp, axis: tile.RangeOp) -> None:
    """Divides a tile's first key in the place of each."""
    if isinstance(op, arith.FloorDivSIOp):
        op.operands[0] = axis.start
        return
    start = insert_before(op, spec.ModOp(axis.start, op.rhs))
    after = insert_before(op, arith.SubiOp(axis.result, axis.start))
    replace(op, [insert_before(op, arith.AddiOp(start, after), op.result.name_hint)])


def _read_once(load: tile.LoadOp, axis: tile.RangeOp, loop: tile.LoopOp) -> None:
    """Asks no longer which keys lie before the loop's end, where all read the same: the first one does."""
    if load.where is None or axis.result in frozenset[SSAValue]().union(*map(AxesAnalysis(), load.indices)):
        return
    conditions = conjuncts(load.where)
    others = [c for c in conditions if not _is_before_end(c, axis, loop)]
    if len(others) < len(conditions):
        where = conjunction(others, load)
        replace(load, [insert_before(load, tile.LoadOp(load.tensor, load.indices, where, load.result.type))])


def _is_before_end(condition: SSAValue, axis: tile.RangeOp, loop: tile.LoopOp) -> bool:
    """Whether a condition is that keys lie before the end of the loop."""
    op = condition.owner
    if not isinstance(op, arith.CmpiOp) or predicate(op) != "sgt":
        return False
    return op.lhs is loop.ub and op.rhs is axis.result
