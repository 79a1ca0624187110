"""cse: one operation where several compute the same.

Why: the analyses compare values by identity: two reads of one key, two divisions of one dim must be one value.

Before:

    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "M"
      %i = attn.each "i" to %M
      %a = arith.addi %M, %i : index
      %b = arith.addi %N, %i : index
      %x = spec.to_float %b : f32
      attn.write @o[%a] = %x : f32
    }

After:

    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %i = attn.each "i" to %M
      %a = arith.addi %M, %i : index
      %x = spec.to_float %a : f32
      attn.write @o[%a] = %x : f32
    }

Exactness: bit-exact. Idempotent. Source: xDSL's own pass, which follows MLIR's.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import cse
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass


@dataclass(frozen=True)
class Cse(ModulePass):
    """Common subexpression elimination over every kernel."""

    name = "cse"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cse(op)
