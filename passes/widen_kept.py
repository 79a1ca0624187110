"""widen-kept: a tile that keeps the type of memory is widened where something is computed of it in a wider type.

Why: a tile that a matrix unit takes as it was read may be used by other operations too, and these compute in f32. Each
such use widens it where it stands, so that the wide tile is not held in registers meanwhile. A comparison needs no wide
numbers where 16 bits hold all that is compared.

Before:

    spec.tensor @x "input" "f16" ["M", "M"]
    spec.tensor @o "output" "f32" ["M", "M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 16 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %size size %size
      %e = tile.range "e" from %zero to %size size %size
      %x = tile.load @x[%i, %d] : f32
      %y = tile.load @x[%d, %e] : f32
      %t = tile.dot %x, %y over %d rounded to "f16" : f32
      %positive = arith.cmpf ogt, %x, %none : f32
      %r = arith.select %positive, %x, %t : f32
      %s = tile.sum %r over %d : f32 to f32
      %u = arith.addf %s, %t : f32
      tile.store @o[%i, %e] = %u : f32
      tile.kept %x, %y : f32, f32
    }

After:

    spec.tensor @x "input" "f16" ["M", "M"]
    spec.tensor @o "output" "f32" ["M", "M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 16 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %size size %size
      %e = tile.range "e" from %zero to %size size %size
      %x = tile.load @x[%i, %d] : f32
      %wide = tile.widened %x : f32
      %y = tile.load @x[%d, %e] : f32
      %t = tile.dot %x, %y over %d rounded to "f16" : f32
      %positive = arith.cmpf ogt, %x, %none : f32
      %r = arith.select %positive, %wide, %t : f32
      %s = tile.sum %r over %d : f32 to f32
      %u = arith.addf %s, %t : f32
      tile.store @o[%i, %e] = %u : f32
      tile.kept %x, %y : f32, f32
    }

A kernel that reads bf16 and writes f16 widens `by bits`: what LLVM sees widened from the one and rounded to the other
it computes in f16, which has less range.

Requires: keep-stored. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from attndsl.ir import tile
from attndsl.ir.analyses.stored import HALVES, Stored
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, UnitAttr, arith
from attndsl.storage import decode, encode


@dataclass(frozen=True)
class WidenKept(ModulePass):
    """Widens the floats of 16 bits that tiles keep where they are used as others."""

    name = "widen-kept"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                stored = Stored.of(kernel)
                for value in stored.halves:
                    _widen(value, stored)
                accesses = [each for each in operations(kernel) if isinstance(each, tile.LoadOp | tile.StoreOp)]
                kernel.by_bits = UnitAttr() if _rounds_again(accesses, stored) else None


def _widen(value: SSAValue, stored: Stored) -> None:
    """Lets the operations that compute with a wider type take the tile widened."""
    uses = [use for use in value.uses if not _takes(use.operation, stored)]
    if not uses:
        return
    owner = value.owner
    assert isinstance(owner, Operation) and owner.parent is not None
    wide = tile.WidenedOp(value)
    wide.location = owner.location
    owner.parent.insert_op_after(wide, owner)
    for use in uses:
        use.operation.operands[use.index] = wide.result


def _takes(op: Operation, stored: Stored) -> bool:
    """Whether an operation takes tiles as memory holds them: a store has a type of its own, a product may."""
    match op:
        case tile.ValuesOp() | tile.WidenedOp() | tile.StoreOp():
            return True
        case tile.DotOp():
            return op.rounded is not None and op.rounded.data in HALVES
        case arith.CmpfOp():
            return _compares_halves(op, stored)
    return any(result in stored.halves for result in op.results)


def _compares_halves(op: arith.CmpfOp, stored: Stored) -> bool:
    """Whether it may compare numbers of 16 bits as they are: with each other, or with what 16 bits hold too."""
    elements = {stored.halves[v] for v in op.operands if v in stored.halves}
    others = [constant(v) for v in op.operands if v not in stored.halves]
    return all(n is not None and decode(encode(np.array(n), e), e) == n for e in elements for n in others)


def _rounds_again(accesses: Collection[tile.LoadOp | tile.StoreOp], stored: Stored) -> bool:
    """Whether what is read as bf16 may be written as f16."""
    read = {stored.element(op) for op in accesses if isinstance(op, tile.LoadOp)}
    written = {stored.element(op) for op in accesses if isinstance(op, tile.StoreOp)}
    return "bf16" in read and "f16" in written
