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

An axis of features starts at a number, where those of rows and keys start where a program or a loop does. A kernel that
contracts tile by tile walks one with a loop, to a number, or the extent of a dim for which other code is made anyway.

Requires: pad-axes, whose guards stand in no index. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import leaves
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ArrayAttr, Block, Context, ModuleOp, ModulePass, SSAValue, SymbolRefAttr, arith


@dataclass(frozen=True)
class SpecialiseStrides(ModulePass):
    """Names the tensors of each kernel whose strides code is made for."""

    name = "specialise-strides"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [kernel for kernel in op.body.block.ops if isinstance(kernel, tile.KernelOp)]
        sizes = [each.size for kernel in kernels for each in operations(kernel) if isinstance(each, tile.PaddedOp)]
        features = {
            leaf.owner.dim.data for size in sizes for leaf in leaves(size) if isinstance(leaf.owner, spec.DimOp)
        }
        for kernel in kernels:
            accesses = [each for each in operations(kernel) if isinstance(each, tile.LoadOp | tile.StoreOp)]
            of_rows = {a.tensor.string_value() for a in accesses if a.indices and _is_feature(a.indices[-1], features)}
            kernel.strided = ArrayAttr(map(SymbolRefAttr, sorted(of_rows)))


def _is_feature(place: SSAValue, features: Collection[str]) -> bool:
    """Whether an index is an axis of features, from a number on or walked by a loop, or one that is moved."""
    op = place.owner
    if isinstance(op, tile.PlaceOp | arith.AddiOp):
        moved = [v for v in op.operands if constant(v) is None and not _walks(v, features)]
        return len(moved) == 1 and _is_feature(moved[0], features)
    return isinstance(op, tile.RangeOp) and (constant(op.start) is not None or _walks(op.start, features))


def _walks(value: SSAValue, features: Collection[str]) -> bool:
    """Whether a value is where a loop is that walks features tile by tile."""
    block = value.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(loop, tile.LoopOp) or value is not loop.body.block.args[0]:
        return False
    extent = loop.ub if loop.row_stop is None else loop.row_stop
    dim = extent.owner
    return constant(extent) is not None or (isinstance(dim, spec.DimOp) and dim.dim.data in features)
