"""share-blocks: what is the same for a block of an axis is read and computed once a block, then repeated along it.

Why: a cache of few bits has a scale for every 16 or 32 numbers, `k_scale[j, d / 32]`, and two numbers in a byte. Read
along the whole axis, each scale is gathered, widened and multiplied 32 times over.

Before:

    spec.tensor @x "input" "i8" ["N", "D"]
    spec.tensor @scale "input" "f16" ["N", "D // 32"]
    spec.tensor @o "output" "f32" ["N", "D"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %block = arith.constant 32 : index
      %N = spec.dim "N"
      %D = spec.dim "D"
      %rest = spec.mod %D, %block
      %whole = arith.cmpi eq, %rest, %zero : index
      spec.assume %whole
      %i0 = tile.program "i" to %N step %block
      %i = tile.range "i" from %i0 to %N size %block
      %d = tile.range "d" from %zero to %D size %D
      %at = arith.floordivsi %d, %block : index
      %number = tile.load @x[%i, %d] : index
      %f = spec.to_float %number : f32
      %s = tile.load @scale[%i, %at] : f32
      %y = arith.mulf %f, %s : f32
      tile.store @o[%i, %d] = %y : f32
    }

After:

    spec.tensor @x "input" "i8" ["N", "D"]
    spec.tensor @scale "input" "f16" ["N", "D // 32"]
    spec.tensor @o "output" "f32" ["N", "D"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %block = arith.constant 32 : index
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %N step %block
      %i = tile.range "i" from %i0 to %N size %block
      %size = arith.constant 32 : index
      %blocks = arith.floordivsi %D, %size : index
      %d = tile.range "d" from %zero to %D size %D
      %at = tile.range "d_block" from %zero to %blocks size %blocks
      %number = tile.load @x[%i, %d] : index
      %f = spec.to_float %number : f32
      %s = tile.load @scale[%i, %at] : f32
      %s1 = tile.repeat %s from %at to %d times 32 : f32 to f32
      %y = arith.mulf %f, %s1 : f32
      tile.store @o[%i, %d] = %y : f32
    }

An axis that begins at 0 and whose blocks are whole, all of them, is taken; and of what depends on it through its
quotient alone, what rests on a read. Integers that rest on none are computed of the axis itself, as before.

A GPU reads blocks of two as before: that they are gathered costs less than a tile of half the size turned into the
layout of the whole, for which a kernel of many rows has no registers.

Requires: canonicalize and cse; pad-axes where tiles are of fixed sizes. Ensures: no spec.assume is left, of which this
is the last reader. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.blocks import shared_in_blocks
from attndsl.ir.exactness import Exactness
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant, index_constant, insert_before, remove_dead, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class ShareBlocks(ModulePass):
    """Gives what depends on an axis through a quotient by `least` or more an axis of blocks."""

    name = "share-blocks"
    exactness = Exactness.EXACT

    least: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                for axis in [each for each in operations(kernel) if isinstance(each, tile.RangeOp)]:
                    for size in _block_sizes(axis):
                        if size >= self.least:
                            _share(kernel, axis, size)
                for assumed in [each for each in operations(kernel) if isinstance(each, spec.AssumeOp)]:
                    replace(assumed, [])
        remove_dead(op)


def _block_sizes(axis: tile.RangeOp) -> list[int]:
    """The numbers that an axis which begins at 0 is divided by."""
    if constant(axis.start) != 0 or axis.size is not axis.stop:
        return []
    divisions = (use.operation for use in axis.result.uses if _divides(use.operation, axis))
    return sorted({int(constant(op.operands[1]) or 0) for op in divisions})


def _divides(op: Operation, axis: tile.RangeOp, size: int | None = None) -> bool:
    """Whether an operation is a quotient of an axis by a number that is more than 1: by `size`, where that is given."""
    if not isinstance(op, arith.FloorDivSIOp) or op.lhs is not axis.result:
        return False
    return (constant(op.rhs) or 0) > 1 and size in (None, constant(op.rhs))


def _share(kernel: tile.KernelOp, axis: tile.RangeOp, size: int) -> None:
    """Reads and computes once for each block of `size` what is the same for it."""
    shared = shared_in_blocks(operations(kernel), axis.result, lambda op: _divides(op, axis, size))
    extent = _blocks(kernel, axis, size) if shared.read else None
    if extent is None:
        return
    block = tile.RangeOp(f"{axis.variable.data}_block", axis.start, extent, extent)
    block.result.name_hint, block.location = block.variable.data, axis.location
    axis.parent.insert_op_after(block, axis)  # type: ignore[union-attr]
    copies: dict[SSAValue, SSAValue] = {}
    for op in shared.operations:
        (value,) = op.results
        if _divides(op, axis):
            copies[value] = block.result
            continue
        copies[value] = insert_before(op, op.clone(copies), value.name_hint)
        if value in shared.read and any(use.operation not in shared.operations for use in value.uses):
            whole = insert_before(op, tile.RepeatOp(copies[value], block.result, axis.result, size), value.name_hint)
            value.replace_uses_with_if(whole, lambda use: use.operation not in shared.operations)


def _blocks(kernel: tile.KernelOp, axis: tile.RangeOp, size: int) -> SSAValue | None:
    """How many blocks an axis has, where all of them are whole; else None."""
    known = constant(axis.stop)
    if known is not None:
        return None if known % size else insert_before(axis, index_constant(int(known) // size))
    divisor = insert_before(axis, index_constant(size))
    blocks = insert_before(axis, arith.FloorDivSIOp(axis.stop, divisor))
    facts = Facts(kernel.body.block)
    return blocks if facts.multiply(facts.of(blocks), facts.of(divisor)) == facts.of(axis.stop) else None
