"""scale-operands: what scales a matrix product is multiplied into the operand that the loop over keys does not change.

Why: `q . k / sqrt(D)` scales each score of each tile, rows times keys numbers. With the query scaled, once before the
loop, there are rows times features to multiply, and the scores come out of the matrix product as they are to be.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %half = arith.constant 5.000000e-01 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %k = tile.load @k[%j, %d] : f32
        %product = tile.dot %q, %k over %d : f32
        %s = arith.mulf %product, %half : f32
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %half = arith.constant 5.000000e-01 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %low over (%i) : f32 to f32
      %scaled = arith.mulf %q, %half : f32
      %t = tile.loop %j0 = %zero to %N step %size iter_args(%m = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %scaled, %k over %d : f32
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

Only a factor that makes no number larger, and none so small that it counts no more, is moved: what overflows or
underflows in the operand need not have done so in the result. Of a parameter, or of data, that is not known.

Requires: gather-scales, which makes one factor of several. Exactness: reassociates products. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.exactness import Exactness
from attndsl.ir.magnitudes import Magnitudes
from attndsl.ir.rewrite import insert_before, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, SSAValue, arith

Products = dict[tuple[Block | None, SSAValue, SSAValue], SSAValue]
"""Scaled operands, by the block that they stand in, the operand and its factor."""

LEAST_FACTOR = 2.0**-64
"""A smaller factor may leave nothing of an operand. Square roots of extents are larger by far."""


@dataclass(frozen=True)
class ScaleOperands(ModulePass):
    """Multiplies factors of matrix products into the operand that was there before the loop."""

    name = "scale-operands"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        magnitudes, made = Magnitudes(), Products()
        for loop in [o for o in of_kind(op, tile.LoopOp) if o.axis is not None]:
            for each in list(loop.body.block.ops):
                if isinstance(each, arith.MulfOp):
                    _move(each, loop, magnitudes, made)


def _move(product: arith.MulfOp, loop: tile.LoopOp, magnitudes: Magnitudes, made: Products) -> None:
    """Moves a factor of a product; loops of a block share the scaled operands that are `made`."""
    for dot, factor in ((product.lhs.owner, product.rhs), (product.rhs.owner, product.lhs)):
        if not isinstance(dot, tile.DotOp) or dot.parent is not product.parent or len(tile.users(dot.result)) > 1:
            continue
        number = next((n for n, side in enumerate((dot.lhs, dot.rhs)) if _is_fixed(side, loop)), None)
        if number is None or dot.where is not None or not _is_mild(factor, loop, magnitudes):
            continue
        key = (loop.parent, dot.operands[number], factor)
        if key not in made:
            scaled = arith.MulfOp(dot.operands[number], factor)
            made[key] = insert_before(loop, scaled, "scaled")
            scaled.location = product.location
        dot.operands[number] = made[key]
        dot.result.name_hint = product.result.name_hint or dot.result.name_hint
        replace(product, [dot.result])
        return


def _is_mild(factor: SSAValue, loop: tile.LoopOp, magnitudes: Magnitudes) -> bool:
    """Whether a factor is a single number, there before the loop, of which is known that it is no large or tiny one."""
    least, most = magnitudes(factor)
    return _is_fixed(factor, loop) and least >= LEAST_FACTOR and most <= 1.0


def _is_fixed(value: SSAValue, loop: tile.LoopOp) -> bool:
    """Whether a value was there before the loop."""
    return not loop.is_ancestor(value.owner)
