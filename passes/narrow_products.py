"""narrow-products: matrix products run in a 16-bit type that holds their operands.

Why: a matrix unit multiplies f16 and bf16 numbers many times faster than f32 ones. Where both operands of a product
are exact in such a type nothing is lost: their product fits f32, in which it is summed. That is so of what memory
holds in the type, and of what has no more bits: an integer of 8, or one of 4 times a scale of 4. Where one operand is
exact, and the other is a weight of the key that the product sums over, the weight is rounded: an error of each weight
by at most half a step of the type, which comes out of a weighted mean no larger than it went in. (So do FlashAttention
and what came after it: Dao et al., 2022.) Products that are `precise` have no weights.

Before:

    spec.tensor @x "input" "bf16" ["M", "N"]
    spec.tensor @v "input" "bf16" ["N", "E"]
    spec.tensor @o "output" "bf16" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %rows = arith.constant 16 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %e = tile.range "e" from %zero to %E size %E
      %start = tile.broadcast %none over (%i, %e) : f32 to f32
      %o = tile.loop %j0 = %zero to %N step %rows iter_args(%sum = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %x = tile.load @x[%i, %j] : f32
        %v = tile.load @v[%j, %e] : f32
        %p = math.exp2 %x : f32
        %part = tile.dot %p, %v over %j : f32
        %next = arith.addf %sum, %part : f32
        tile.yield %next : f32
      }
      tile.store @o[%i, %e] = %o : f32
    }

After:

    spec.tensor @x "input" "bf16" ["M", "N"]
    spec.tensor @v "input" "bf16" ["N", "E"]
    spec.tensor @o "output" "bf16" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %rows = arith.constant 16 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %e = tile.range "e" from %zero to %E size %E
      %start = tile.broadcast %none over (%i, %e) : f32 to f32
      %o = tile.loop %j0 = %zero to %N step %rows iter_args(%sum = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %x = tile.load @x[%i, %j] : f32
        %v = tile.load @v[%j, %e] : f32
        %p = math.exp2 %x : f32
        %part = tile.dot %p, %v over %j rounded to "bf16" : f32
        %next = arith.addf %sum, %part : f32
        tile.yield %next : f32
      }
      tile.store @o[%i, %e] = %o : f32
    }

Other f32 products use tf32x3 (see `tile.dot`) where the target's matrix unit has it.

A weight is rounded to a type that a tensor of the spec has: where all are f32, f32 is what was asked for. It is rounded
to bf16, which has the range of f32, and to f16 only where a tile.within says that it is at most 1, as one of a softmax
is: others could leave the range of f16.

Requires: tile. Exactness: rounds weights to f16 or bf16. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.significands import Significands
from attndsl.ir.analyses.stored import HALVES
from attndsl.ir.exactness import Exactness
from attndsl.ir.machines import DEFAULT, MACHINES
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, StringAttr, arith, f32


@dataclass(frozen=True)
class NarrowProducts(ModulePass):
    """Sets `rounded` of each tile.dot: the 16-bit type of its operands, else how `machine` multiplies f32 numbers."""

    name = "narrow-products"
    exactness = Exactness.NARROWS

    machine: str = DEFAULT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products = MACHINES[self.machine].f32_products
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                dots = [o for o in of_kind(kernel, tile.DotOp) if o.result.type == f32]
                elements = {t.element.data for t in spec.declarations(kernel, spec.TensorOp)}
                significands = Significands(kernel)
                for each in dots:
                    element = _narrow(each, significands, elements) or (products if products != "ieee" else None)
                    if element is not None:
                        each.rounded = StringAttr(element)


def _narrow(op: tile.DotOp, significands: Significands, elements: set[str]) -> str | None:
    """The type that the operands of a product are rounded to, None where they are not."""
    left, right = ([half for half in HALVES if significands(value).fits(half)] for value in (op.lhs, op.rhs))
    if left and right:
        return next((half for half in left if half in right), None)
    if not (tile.is_key(op.over) or tile.is_row(op.over)) or op.precise is not None:
        return None
    held, weight = (left, op.rhs) if left else (right, op.lhs)
    suited = [half for half in held if half in elements and (half == "bf16" or _is_at_most_one(weight))]
    return suited[0] if suited else None


def _is_at_most_one(value: SSAValue) -> bool:
    """Whether a value is said to be at most 1 from 0, or is one that is, where a condition holds, and 0 elsewhere."""
    op = value.owner
    if isinstance(op, arith.SelectOp) and constant(op.rhs) == 0:
        return _is_at_most_one(op.lhs)
    said = [use.operation for use in value.uses if isinstance(use.operation, tile.WithinOp)]
    return any(-1 <= each.low.value.data <= each.high.value.data <= 1 for each in said)
