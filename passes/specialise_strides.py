"""specialise-strides: code is made for the strides of tensors whose last axis holds features.

Why: such an axis is mostly a multiple of 16 long, and then so are the other strides of a contiguous tensor, whatever
its other extents. Code that knows it reads 16 bytes at a time. The strides of other tensors change with lengths: code
that was made for them would be made anew at nearly every call.

Before:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @length "input" "i32" ["M"]
    spec.tensor @o "output" "f32" ["M", "D"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = arith.constant 64 : index
      %M = spec.dim "M"
      %i = tile.program "i" to %M step %one
      %d = tile.range "d" from %zero to %size size %size
      %n = tile.load @length[%i] : index
      %in = arith.cmpi slt, %d, %n : index
      %at = tile.place [1 : index] of(%zero) axes(%d) near()
      %x = tile.load @x[%i, %at] where %in : f32
      tile.store @o[%i, %at] = %x where %in : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @length "input" "i32" ["M"]
    spec.tensor @o "output" "f32" ["M", "D"]
    tile.kernel @k strided [@o, @x] {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = arith.constant 64 : index
      %M = spec.dim "M"
      %i = tile.program "i" to %M step %one
      %d = tile.range "d" from %zero to %size size %size
      %n = tile.load @length[%i] : index
      %in = arith.cmpi slt, %d, %n : index
      %at = tile.place [1 : index] of(%zero) axes(%d) near()
      %x = tile.load @x[%i, %at] where %in : f32
      tile.store @o[%i, %at] = %x where %in : f32
    }

An axis of features starts at a number, where those of rows and keys start where a program or a loop does.

Requires: pad-axes, whose guards stand in no index. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ArrayAttr, Context, ModuleOp, ModulePass, SSAValue, SymbolRefAttr, arith


@dataclass(frozen=True)
class SpecialiseStrides(ModulePass):
    """Names the tensors of each kernel whose strides code is made for."""

    name = "specialise-strides"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                accesses = [each for each in operations(kernel) if isinstance(each, tile.LoadOp | tile.StoreOp)]
                of_rows = {a.tensor.string_value() for a in accesses if a.indices and _is_feature(a.indices[-1])}
                kernel.strided = ArrayAttr(map(SymbolRefAttr, sorted(of_rows)))


def _is_feature(place: SSAValue) -> bool:
    """Whether an index is an axis of features, which starts at a number, or one moved by a number."""
    op = place.owner
    if isinstance(op, tile.PlaceOp | arith.AddiOp):
        moved = [v for v in op.operands if constant(v) is None]
        return len(moved) == 1 and _is_feature(moved[0])
    return isinstance(op, tile.RangeOp) and constant(op.start) is not None
