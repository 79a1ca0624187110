"""keep-stored: tiles that are only used in the element type that memory holds them in are not widened.

Why: a matrix unit takes f16 and bf16 as they are read. A tile that is widened and rounded again needs twice the
registers meanwhile, and instructions for each element; so does an integer of 32 bits that is widened only to be
compared, and one of 8 that becomes a float.

Before:

    spec.tensor @x "input" "f16" ["M", "D"]
    spec.tensor @y "input" "f16" ["D", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 16 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %size size %size
      %e = tile.range "e" from %zero to %size size %size
      %i_in = arith.cmpi slt, %i, %M : index
      %x = tile.load @x[%i, %d] : f32
      %kept = arith.select %i_in, %x, %none : f32
      %y = tile.load @y[%d, %e] : f32
      %t = tile.dot %kept, %y over %d rounded to "f16" : f32
      tile.store @o[%i, %e] = %t : f32
    }

After:

    spec.tensor @x "input" "f16" ["M", "D"]
    spec.tensor @y "input" "f16" ["D", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 16 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %size size %size
      %e = tile.range "e" from %zero to %size size %size
      %i_in = arith.cmpi slt, %i, %M : index
      %x = tile.load @x[%i, %d] : f32
      %kept = arith.select %i_in, %x, %none : f32
      %y = tile.load @y[%d, %e] : f32
      %t = tile.dot %kept, %y over %d rounded to "f16" : f32
      tile.store @o[%i, %e] = %t : f32
      tile.kept %x, %kept, %y : f32, f32, f32
    }

A tile of which a product of its type is made is kept whatever else is computed of it, which then widens it. So are the
integers that a loop carries to its next turn: what loads ahead looks for the load itself.

Requires: narrow-products. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.stored import HALVES, is_carried, read_of
from attndsl.ir.analyses.widths import is_short
from attndsl.ir.exactness import Exactness
from attndsl.ir.ranges import is_identity
from attndsl.ir.rewrite import constant, say
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith, index


@dataclass(frozen=True)
class KeepStored(ModulePass):
    """Names the tiles of each kernel that keep the element type of their tensor."""

    name = "keep-stored"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                results = (result for each in operations(kernel) for result in each.results)
                say(kernel, tile.KeptOp, [value for value in results if _is_kept(value)])


def _is_kept(value: SSAValue) -> bool:
    """Whether a tile is used as memory holds it."""
    load = read_of(value)
    if load is None:
        return False
    element = enclosing_tensor(load, load.tensor.string_value()).element.data
    if element in HALVES:
        return _is_multiplied(value, element)
    if value is not load.result or value.type != index:
        return False
    users = tile.users(value)
    if (is_carried(value) and element != "u32") or all(isinstance(user, spec.ToFloatOp) for user in users):
        return True
    return element == "i32" and all(map(_compares, users))


def _is_multiplied(value: SSAValue, element: str) -> bool:
    """Whether a product of its type is made of a tile, be some of it left out."""
    for user in tile.users(value):
        match user:
            case tile.DotOp() if user.rounded is not None and user.rounded.data == element:
                return True
            case arith.SelectOp() if value is user.lhs and constant(user.rhs) == 0:
                if _is_multiplied(user.result, element):
                    return True
    return False


def _compares(op: Operation) -> bool:
    """Whether an operation takes integers of 32 bits: it compares them, or leaves some out of a least or largest."""
    if isinstance(op, arith.CmpiOp):
        return all(map(is_short, op.operands))
    return any(is_identity(value, op) for value in op.operands)
