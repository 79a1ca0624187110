"""order-axes: says of each kernel whether the rows of its tiles lie last, as keys by rows.

Why: of a product of rows by keys, a BLAS library reads both operands along their features, and packs the keys, which
are many, for few rows. Of keys by rows it reads the keys as they lie in memory: with 128 rows that is a quarter faster,
with 4 twice to four times. What varies by row alone, the maxima and sums of a softmax, then lies along the axis that
NumPy's loops run over, and broadcasts against scores with no axis added.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums rows last {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

A kernel that reads tiles in which keys lie side by side, a bias of each pair say, keeps rows first: two tiles that lie
in different orders take NumPy thirty times as long to add.

With `sliced`, for CPUs whose library is faster at slices of a product (`slice-products`), projections have rows last,
too: products of rows by matrices, as the weights of linear layers, that both lie along what is summed. Slices of a
matrix are as they lie, and the rows are turned. That takes as long as a product of 128 features, so that rows have to
be multiplied more than once; and nothing else may be read for each row and feature, which would lie in another order.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import batch_axes, row_axis
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.statements import operations
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, UnitAttr


@dataclass(frozen=True)
class OrderAxes(ModulePass):
    """Puts rows last where a product is of rows by keys; where slices of it are fast, of rows by weights, too."""

    name = "order-axes"
    exactness = Exactness.EXACT

    sliced: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp) and self.wants_rows_last(kernel):
                kernel.rows_last = UnitAttr()

    def wants_rows_last(self, kernel: tile.KernelOp) -> bool:
        """Whether products of a kernel are faster so."""
        rows = row_axis(kernel)
        return rows is not None and (_has_scores(kernel, rows) or (self.sliced and _projects(kernel, rows)))


def _projects(kernel: tile.KernelOp, rows: SSAValue) -> bool:
    """Whether a kernel walks no keys, and all it does is to multiply rows, each several times, by matrices.

    Both lie in memory along what is summed.
    """
    axes, batch, ops = AxesAnalysis(), batch_axes(kernel), operations(kernel)
    dots = [op for op in ops if isinstance(op, tile.DotOp)]
    if not dots or any(isinstance(op, tile.LoopOp) for op in ops):
        return False
    operands = {value for dot in dots for value in (dot.lhs, dot.rhs)}
    others = [op for op in ops if isinstance(op, tile.LoadOp) and op.result not in operands]
    if any(len(axes(op.result) - batch) > 1 for op in others):  # which would lie in another order
        return False
    return all(dot.is_of_matrices(axes, batch) and _turns_once(dot, rows, axes, batch) for dot in dots)


def _turns_once(dot: tile.DotOp, rows: SSAValue, axes: AxesAnalysis, batch: Axes) -> bool:
    """Whether rows that a product takes are multiplied by others, too, or by several heads' matrices."""
    turned = [value for value in (dot.lhs, dot.rhs) if rows in axes(value)]
    if len(turned) != 1 or not all(_lies_along(value, dot.over, axes) for value in (dot.lhs, dot.rhs)):
        return False
    times = sum(isinstance(use.operation, tile.DotOp) for use in turned[0].uses)
    return times > 1 or bool(axes(dot.result) & batch - axes(turned[0]))


def _lies_along(value: SSAValue, axis: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether what is read lies along an axis in memory."""
    return isinstance(value.owner, tile.LoadOp) and axes(value.owner.indices[-1]) == {axis}


def _has_scores(kernel: tile.KernelOp, rows: SSAValue) -> bool:
    """Whether a product is of rows by keys, and no other tile of these lies by keys."""
    axes = AxesAnalysis()
    pairs = [op for op in operations(kernel) if op.results and _is_of_pairs(axes(op.results[0]), rows)]
    scores = any(isinstance(op, tile.DotOp) for op in pairs)
    return scores and not any(isinstance(op, tile.LoadOp) and _lies_by_keys(op, rows, axes) for op in pairs)


def _is_of_pairs(axes: Axes, rows: SSAValue) -> bool:
    """Whether a tile has a number for each row and each key."""
    return rows in axes and any(map(tile.is_key, axes))


def _lies_by_keys(op: tile.LoadOp, rows: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether keys lie side by side in the memory that a tile of pairs is read from."""
    last = axes(op.indices[-1])
    return rows not in last and any(map(tile.is_key, last))
