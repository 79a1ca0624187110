"""specialise: dims that are known when code is made become constants.

Why: a kernel's tiles have an axis for each feature dim, and code for a GPU fixes how large a tile is. Known, such a dim
also settles what rests on it: guards against an empty axis, the scale of a score, halves of a head. What a call tells
(batch, lengths, pages) stays a dim.

Before:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %D = spec.dim "D"
      %i = attn.each "i" to %M
      %d = attn.axis "d" to %D
      %x = attn.read @x[%i, %d] : f32
      %s = attn.sum %x over %d : f32
      attn.write @o[%i] = %s : f32
    }

After specialise{dims=D extents=128}:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %D = arith.constant 128 : index
      %i = attn.each "i" to %M
      %d = attn.axis "d" to %D
      %x = attn.read @x[%i, %d] : f32
      %s = attn.sum %x over %d : f32
      attn.write @o[%i] = %s : f32
    }

The extents of tensors stay as they are written: a call is checked against them. Requires: that calls have these
extents, and meet the conditions of the spec with them. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec
from attndsl.ir.errors import RequirementError
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import index_constant, insert_before, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass


@dataclass(frozen=True)
class Specialise(ModulePass):
    """Replaces each of `dims` by its extent, the number at the same place of `extents`."""

    name = "specialise"
    exactness = Exactness.EXACT

    dims: tuple[str, ...] = ()
    extents: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check(op)
        known = dict(zip(self.dims, self.extents, strict=True))
        for dim in of_kind(op, spec.DimOp):
            if dim.dim.data in known:
                replace(dim, [insert_before(dim, index_constant(known[dim.dim.data]))])

    def _check(self, module: ModuleOp) -> None:
        if len(self.dims) != len(self.extents):
            raise RequirementError(f"specialise has {len(self.dims)} dims and {len(self.extents)} extents for them")
        declared = {dim for op in module.ops if isinstance(op, spec.TensorOp) for dim in op.extents.dims}
        for dim, extent in zip(self.dims, self.extents, strict=True):
            if dim not in declared:
                raise RequirementError(f"specialise knows no dim {dim}: no tensor has an extent made of it")
            if extent < 0:
                raise RequirementError(f"specialise has {extent} for {dim}: an extent is never negative")
