"""slice-products: products of matrices are made a few rows at a time where a CPU's BLAS library is faster at that.

Why: a library packs both operands of a product before it multiplies them, so that it reads them in order. Some have
other code for small products, which packs nothing. A product of 128 by 512 by 64 is packed; cut into slices of 8 rows
it is sixteen small products, which OpenBLAS's code for AVX-512 makes a sixth to a third faster. Where a library has no
such code they take twice as long: whether to cut at all is a question of the machine.

Before:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %j = tile.range "j" from %zero to %N size %N
      %e = tile.range "e" from %zero to %E size %E
      %p = tile.load @p[%i, %j] : f32
      %v = tile.load @v[%j, %e] : f32
      %t = tile.dot %p, %v over %j : f32
      tile.store @o[%i, %e] = %t : f32
    }

After:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %j = tile.range "j" from %zero to %N size %N
      %e = tile.range "e" from %zero to %E size %E
      %p = tile.load @p[%i, %j] : f32
      %v = tile.load @v[%j, %e] : f32
      %t = tile.dot %p, %v over %j in slices of 8 : f32
      tile.store @o[%i, %e] = %t : f32
    }

Chosen are products of two matrices whose second factor lies in memory as it is read, along its own axis: as keys by
features of q . k, which a library has to turn, it is slower in slices. Which factor is the second, the order of the
kernel's axes says.

Requires: tile. Exactness: bit-exact: the IR leaves the order of a product's sums to the target. Idempotent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import arrangement, batch_axes
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, IntegerAttr, ModuleOp, ModulePass, SSAValue, index


@dataclass(frozen=True)
class SliceProducts(ModulePass):
    """Sets `slices` of the products of matrices to `rows`."""

    name = "slice-products"
    exactness = Exactness.EXACT

    rows: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                axes, order, batch = AxesAnalysis(), arrangement(kernel), batch_axes(kernel)
                for each in operations(kernel):
                    if isinstance(each, tile.DotOp) and each.is_of_matrices(axes, batch):
                        _, (left,), (right,) = each.sides(axes, batch)
                        own, second = (right, each.rhs) if order[left] < order[right] else (left, each.lhs)
                        if _lies_along(second, own, each.over, axes, order):
                            each.slices = IntegerAttr(self.rows, index)


def _lies_along(
    second: SSAValue, own: SSAValue, over: SSAValue, axes: AxesAnalysis, order: Mapping[SSAValue, tuple[int, int]]
) -> bool:
    """Whether the second factor of a product lies along its own axis, and not along what is summed."""
    load = second.owner
    if not isinstance(load, tile.LoadOp) or tile.into_of(second) is not None:
        return order[over] < order[own]
    varying = [axes(value) for value in load.indices if not axes(value).isdisjoint((own, over))]
    return varying[-1] == {own}
