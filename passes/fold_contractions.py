"""fold-contractions: a kernel without keys folds its contractions over their axis as others fold over their keys.

Why: a kernel that only multiplies matrices has tiles of rows and features, and what it contracts stands in them whole:
tiles of a fixed size have no room for a projection's hundreds of numbers. As keys they come tile by tile, the next on
its way while one is multiplied.

Before:

    spec.tensor @w "input" "f32" ["D", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @key "workspace" "f32" ["N", "D"]
    attn.kernel @k {
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.axis "r" to %R
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %wc = arith.mulf %w, %c : f32
      %key = attn.sum %wc over %r : f32
      attn.write @key[%j, %d] = %key : f32
    }

After:

    spec.tensor @w "input" "f32" ["D", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @key "workspace" "f32" ["N", "D"]
    attn.kernel @k schedule {split_k = 1 : i64} {
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.over "r" to %R
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %wc = arith.mulf %w, %c : f32
      %key = attn.total %wc over %r precise : f32
      attn.write @key[%j, %d] = %key : f32
    }

A kernel has one variable of keys: it is the axis of the first contraction of which nothing else is made, and what has
no more of them than a feature does is not worth splitting.

Requires: canonicalize and cse; runs before pack-rows, which asks what is read along keys. Exactness: bit-exact.
Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import factors_of, over_of
from attndsl.ir.rewrite import insert_before, replace
from attndsl.ir.xdsl import Context, DictionaryAttr, IntegerAttr, ModuleOp, ModulePass


@dataclass(frozen=True)
class FoldContractions(ModulePass):
    """Makes keys of what a kernel without keys contracts."""

    name = "fold-contractions"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp) and over_of(kernel) is None:
                _fold(kernel)


def _fold(kernel: attn.KernelOp) -> None:
    axis = _contracted(kernel)
    if axis is None:
        return
    over = insert_before(axis, attn.OverOp(axis.variable.data, axis.extent), axis.result.name_hint)
    replace(axis, [over])
    for op in list(kernel.body.block.ops):
        if isinstance(op, attn.SumOp) and op.over is over:
            replace(op, [insert_before(op, attn.TotalOp(op.body, over, None, precise=True))])
    kernel.schedule = DictionaryAttr({"split_k": IntegerAttr(1, 64)})


def _contracted(kernel: attn.KernelOp) -> attn.AxisOp | None:
    """The axis of the first contraction along which nothing varies that is no term of a sum over it."""
    axes, block = AxesAnalysis(), kernel.body.block
    kept = {variable for op in block.ops if isinstance(op, attn.WriteOp) for v in op.operands for variable in axes(v)}
    kept |= {op.over for op in block.ops if isinstance(op, attn.ReduceAxisOp) and not isinstance(op, attn.SumOp)}
    sums = [op for op in block.ops if isinstance(op, attn.SumOp) and op.over not in kept]
    found = (op.over.owner for op in sums if sum(op.over in axes(factor) for factor in factors_of(op.body)) > 1)
    return next((axis for axis in found if isinstance(axis, attn.AxisOp)), None)
