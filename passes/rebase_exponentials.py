"""rebase-exponentials: exp(x) becomes 2^(x log2(e)), where the factor joins what scales x already.

Why: a GPU has exp2, and makes an exp of it and of a product. Of `q . k * scale - lse` the scale and the row's number
take that factor, once for all keys of the row. So weights are computed again in gradients, as softmax streams them.

Before:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @l "input" "f32" ["M"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %s = attn.read @s[%i, %j] : f32
      %l = attn.read @l[%i] : f32
      %half = arith.constant 5.000000e-01 : f32
      %x = arith.mulf %s, %half : f32
      %y = arith.subf %x, %l : f32
      %p = math.exp %y : f32
      %t = attn.total %p over %j : f32
      attn.write @o[%i] = %t : f32
    }

After:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @l "input" "f32" ["M"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %s = attn.read @s[%i, %j] : f32
      %l = attn.read @l[%i] : f32
      %half = arith.constant 5.000000e-01 : f32
      %log2e = arith.constant 1.44269502 : f32
      %scale = arith.mulf %log2e, %half : f32
      %x = arith.mulf %s, %scale : f32
      %c = arith.constant 1.44269502 : f32
      %l2 = arith.mulf %l, %c : f32
      %y = arith.subf %x, %l2 : f32
      %p = math.exp2 %y : f32
      %t = attn.total %p over %j : f32
      attn.write @o[%i] = %t : f32
    }

Ensures: an exponential of base e is left where the factor would be a product of its own. Exactness: reassociates the
scale of the exponent. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.base_two import in_base_two, takes_factor
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import insert_before, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, math


@dataclass(frozen=True)
class RebaseExponentials(ModulePass):
    """Replaces math.exp by math.exp2 where that saves a product."""

    name = "rebase-exponentials"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        axes = AxesAnalysis()
        for kernel in op.body.block.ops:
            for each in operations(kernel) if isinstance(kernel, attn.KernelOp) else ():
                if isinstance(each, math.ExpOp) and takes_factor(each.operand, axes):
                    power = math.Exp2Op(in_base_two(each.operand, each))
                    replace(each, [insert_before(each, power, each.result.name_hint)])
