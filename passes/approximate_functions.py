"""approximate-functions: a function of 16-bit numbers' products may be computed to as many bits as those have.

Why: a matrix unit multiplies scores of 16 bits while other units make weights of them, and a hyperbolic tangent that is
exact to f32's last place, as a softcap takes of each score, takes most of that time: an exponential, a division and
what guards it. Hardware has one instruction that is off by at most 2^-11 of the result, half a step of f16, and a score
that was stored in 16 bits would be off by as much or more. (So do FlashAttention's and FlexAttention's softcaps.) On an
H200 a softcap of 128 features took 0.66 of the time with it, of 64 features 0.63.

Before:

    spec.tensor @q "input" "bf16" ["M", "16"]
    spec.tensor @k "input" "bf16" ["16", "N"]
    spec.tensor @b "input" "bf16" ["M", "N"]
    spec.tensor @o "output" "bf16" ["M", "N"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %size = arith.constant 16 : index
      %cap = arith.constant 50.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %j = tile.range "j" from %zero to %N size %size
      %d = tile.range "d" from %zero to %size size %size
      %q = tile.load @q[%i, %d] : f32
      %k = tile.load @k[%d, %j] : f32
      %s = tile.dot %q, %k over %d rounded to "bf16" : f32
      %t = arith.divf %s, %cap : f32
      %capped = math.tanh %t : f32
      %b = tile.load @b[%i, %j] : f32
      %bounded = math.tanh %b : f32
      %score = arith.addf %capped, %bounded : f32
      tile.store @o[%i, %j] = %score : f32
    }

After:

    spec.tensor @q "input" "bf16" ["M", "16"]
    spec.tensor @k "input" "bf16" ["16", "N"]
    spec.tensor @b "input" "bf16" ["M", "N"]
    spec.tensor @o "output" "bf16" ["M", "N"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %size = arith.constant 16 : index
      %cap = arith.constant 50.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %j = tile.range "j" from %zero to %N size %size
      %d = tile.range "d" from %zero to %size size %size
      %q = tile.load @q[%i, %d] : f32
      %k = tile.load @k[%d, %j] : f32
      %s = tile.dot %q, %k over %d rounded to "bf16" : f32
      %t = arith.divf %s, %cap : f32
      %capped = math.tanh %t fastmath<afn> : f32
      %b = tile.load @b[%i, %j] : f32
      %bounded = math.tanh %b : f32
      %score = arith.addf %capped, %bounded : f32
      tile.store @o[%i, %j] = %score : f32
    }

`afn` is MLIR's flag for functions that may be approximated. It allows, and asks for nothing: kernels whose warps have
roles take the instruction, plain ones compute in f32, on whatever GPU. What is made of no such product stays exact, and
so does what a loop has summed up, and a spec none of whose tensors has the 16-bit type.

Requires: narrow-products. Exactness: rounds weights, whose scores these are. Idempotent.
"""

from __future__ import annotations

from attndsl.ir import spec, tile
from attndsl.ir.analyses.stored import HALVES
from attndsl.ir.exactness import Exactness
from attndsl.ir.meaning import APPROXIMATED, is_elementwise
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Context, FastMathFlag, FastMathFlagsAttr, ModuleOp, ModulePass, Operation, f32


class ApproximateFunctions(ModulePass):
    """Marks each such function."""

    name = "approximate-functions"
    exactness = Exactness.NARROWS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        halves = {tensor.element.data for tensor in spec.declarations(op, spec.TensorOp)}.intersection(HALVES)
        made: set[Operation] = set()  # floats that are made of products; what is chosen by them is not
        for each in operations(op):
            if isinstance(each, tile.DotOp) and each.rounded is not None and each.rounded.data in halves:
                made.add(each)
            elif is_elementwise(each) and each.results[0].type == f32 and not made.isdisjoint(_owners(each)):
                made.add(each)
                if type(each) in APPROXIMATED:
                    each.properties["fastmath"] = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])


def _owners(op: Operation) -> list[Operation | Block]:
    """What makes the floats that an operation computes with."""
    return [value.owner for value in op.operands if value.type == f32]
