"""gather-blocks: what keys read by quotient and remainder is read by whole blocks of keys.

Why: key j of a paged cache lies on page `table[j / S]`, in place `j % S`. Read key by key, the table is read once for
each of them, and so are the bounds of what it says compared, and the cache is gathered row by row. With an axis of
pages and one of the places in them, the table is read once a page, and the cache a page at a time.

Before:

    spec.tensor @x "input" "f32" ["P", "S", "D"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %size = arith.constant 16 : index
      %S = arith.constant 4 : index
      %M = spec.dim "M"
      %N = spec.dim "L"
      %P = spec.dim "P"
      %i0 = tile.program "i" to %M step %size
      %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %low) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %page = arith.floordivsi %j, %S : index
        %place = spec.mod %j, %S
        %table = tile.load @table[%page] : index
        %in = arith.cmpi slt, %table, %P : index
        %v = tile.load @x[%table, %place, %i0] where %in : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i0] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["P", "S", "D"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %size = arith.constant 16 : index
      %S = arith.constant 4 : index
      %M = spec.dim "M"
      %N = spec.dim "L"
      %P = spec.dim "P"
      %i0 = tile.program "i" to %M step %size
      %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %low) -> (f32) {
        %following = arith.addi %j0, %size : index
        %end = arith.minsi %following, %N : index
        %j = tile.range "j" from %j0 to %end size %size
        %block0 = arith.floordivsi %j0, %S : index
        %one = arith.constant 1 : index
        %last = arith.subi %end, %one : index
        %before = arith.floordivsi %last, %S : index
        %block_end = arith.addi %before, %one : index
        %blocks = arith.subi %block_end, %block0 : index
        %page = tile.range "j_block" from %block0 to %block_end size %blocks
        %first = arith.muli %block0, %S : index
        %none = arith.constant 0 : index
        %place = tile.range "j_place" from %none to %S size %S
        %table = tile.load @table[%page] : index
        %in = arith.cmpi slt, %table, %P : index
        %rows = tile.load @x[%table, %place, %i0] where %in : f32
        %v = tile.flatten %rows from %page, %place at %first to %j : f32 to f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i0] = %t : f32
    }

Blocks of a known size that are no longer than a tile are read whole. Of others a tile may be a small part of one: then
only the places that the tile has are read.

Requires: canonicalize and cse. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.blocks import Shared, shared_in_blocks
from attndsl.ir.ends import end_of
from attndsl.ir.exactness import Exactness
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant, index_constant, insert_before, remove_dead, replace
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class GatherBlocks(ModulePass):
    """Gives what keys read by a quotient an axis of blocks, and one of the places in them."""

    name = "gather-blocks"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                loops = [each for each in kernel.body.block.ops if isinstance(each, tile.LoopOp)]
                found = [(loop, size) for loop in loops for size in _divisors(loop)]
                facts = Facts(kernel.body.block)
                for loop, size in [each for each in found if facts.positive(each[1])]:
                    _Blocks(loop, size).gather()
                if found:
                    remove_dead(op)


def _divisors(loop: tile.LoopOp) -> list[SSAValue]:
    """What the keys of a loop over tiles are divided by: each a number that was there before it."""
    axis = loop.axis
    if axis is None or axis.start is not loop.body.block.args[0]:
        return []
    uses = [use.operation for use in axis.result.uses]
    found = [op.rhs for op in uses if isinstance(op, arith.FloorDivSIOp) and op.lhs is axis.result]
    return [size for size in dict.fromkeys(found) if not loop.is_ancestor(size.owner) and not AxesAnalysis()(size)]


class Layout(NamedTuple):
    """An axis of blocks and one of the places in them, and the key where the first of them is laid."""

    blocks: SSAValue
    within: SSAValue
    origin: SSAValue


class _Blocks:
    """The keys of a loop over tiles of them, in blocks of a size."""

    def __init__(self, loop: tile.LoopOp, size: SSAValue) -> None:
        assert loop.axis is not None
        self.loop, self.axis, self.size = loop, loop.axis, size
        self.axes = AxesAnalysis()

    def gather(self) -> None:
        """Reads by blocks what is found by the block of a key, and its place in that."""
        body = list(self.loop.body.block.ops)
        shared = shared_in_blocks(body, self.axis.result, self.is_quotient)
        if not shared.read:
            return
        layout = self.lay()
        loads = [op for op in body if isinstance(op, tile.LoadOp) and self.reads_blocks(op, shared)]
        copies: dict[SSAValue, SSAValue] = {}
        for op in shared.operations:
            (value,) = op.results
            copies[value] = (
                layout.blocks if self.is_quotient(op) else insert_before(op, op.clone(copies), value.name_hint)
            )
        for load in loads:
            places = {v: layout.within for v in load.indices if self.is_place(v)}
            rows = insert_before(load, load.clone(copies | places), load.result.name_hint)
            replace(load, [self.flat(load, rows, layout)])
        for op in shared.operations:
            (value,) = op.results
            others = [use for use in value.uses if use.operation not in shared.operations]
            if value in shared.read and others:
                whole = self.flat(op, copies[value], layout)
                value.replace_uses_with_if(whole, lambda use: use.operation not in shared.operations)

    def lay(self) -> Layout:
        """The axes of a tile's blocks and of the places in them, and the key that the first of these is of."""
        name, anchor, size = self.axis.variable.data, self.axis.next_op, self.size
        assert anchor is not None

        def add(op: Operation, hint: str | None = None) -> SSAValue:
            return insert_before(anchor, op, f"{name}_{hint}" if hint is not None else None)

        key, end = self.axis.start, end_of(self.axis)
        first = add(arith.FloorDivSIOp(key, size), "block0")
        one = add(index_constant(1))
        last = add(arith.FloorDivSIOp(add(arith.SubiOp(end, one)), size))
        stop = add(arith.AddiOp(last, one), "block_end")
        blocks = add(tile.RangeOp(f"{name}_block", first, stop, add(arith.SubiOp(stop, first))), "block")
        origin, low, high = add(arith.MuliOp(first, size), "first"), add(index_constant(0)), size
        places = size
        if not 0 < int(constant(size) or 0) <= int(constant(self.axis.size) or 0):
            reach = add(arith.SubiOp(end, origin))
            alone = add(arith.CmpiOp(reach, size, "sle"))
            low = add(arith.SelectOp(alone, add(arith.SubiOp(key, origin)), low), "place0")
            high = add(arith.MinSIOp(reach, size), "place_end")
            origin, places = add(arith.AddiOp(origin, low), "laid"), add(arith.SubiOp(high, low))
        return Layout(blocks, add(tile.RangeOp(f"{name}_place", low, high, places), "place"), origin)

    def flat(self, anchor: Operation, value: SSAValue, layout: Layout) -> SSAValue:
        """A value of blocks, or of places in them, as one of keys."""
        return insert_before(anchor, tile.FlattenOp(value, *layout, self.axis.result), value.name_hint)

    # --- what is read by blocks

    def is_quotient(self, op: Operation) -> bool:
        """Whether an operation gives the blocks of keys."""
        return isinstance(op, arith.FloorDivSIOp) and op.lhs is self.axis.result and op.rhs is self.size

    def is_place(self, value: SSAValue) -> bool:
        """Whether a value is the place of a key in its block."""
        op = value.owner
        return isinstance(op, spec.ModOp) and op.lhs is self.axis.result and op.rhs is self.size

    def reads_blocks(self, load: tile.LoadOp, shared: Shared) -> bool:
        """Whether a load finds a key by its block, and by its place in that, once, and by nothing else."""
        varying = [v for v in load.operands if self.axis.result in self.axes(v)]
        places = [v for v in varying if self.is_place(v)]
        blocks = [v for v in varying if v in shared.values]
        return len(places) == 1 and len(blocks) == len(varying) - 1 > 0 and load.where is not places[0]
