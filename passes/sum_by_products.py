"""sum-by-products: the sum of matrices along an axis is a product with ones.

Why: the weights of a softmax are summed for each tile of keys. NumPy takes 30 us to sum 256 rows by 512 keys. The
product of a matrix and a vector, in which a BLAS library keeps all lanes of a processor busy, takes 6.

Before:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %p = tile.load @p[%i, %j] : f32
        %t = tile.sum %p over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %p = tile.load @p[%i, %j] : f32
        %one = arith.constant 1.0 : f32
        %ones = tile.broadcast %one over (%j) : f32 to f32
        %t = tile.dot %p, %ones over %j : f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

A sum of f64 stays: those are kept for their digits, and so is the order in which NumPy adds them.

Requires: tile. Exactness: reassociates. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant_op, insert_before, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, f32


@dataclass(frozen=True)
class SumByProducts(ModulePass):
    """Multiplies with ones what is summed."""

    name = "sum-by-products"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        axes = AxesAnalysis()
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                for each in operations(kernel):
                    if isinstance(each, tile.SumOp) and each.body.type == f32 and len(axes(each.body)) > 1:
                        _multiply(each)


def _multiply(op: tile.SumOp) -> None:
    one = insert_before(op, constant_op(1.0, f32))
    ones = insert_before(op, tile.BroadcastOp(one, [op.over]))
    replace(op, [insert_before(op, tile.DotOp(op.body, ones, op.over), op.result.name_hint or "total")])
