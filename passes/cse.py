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

Exactness: bit-exact. Idempotent. Source: MLIR's pass of that name.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir.dead import is_dead, is_pure
from attndsl.ir.exactness import Exactness
from attndsl.ir.xdsl import Context, IsolatedFromAbove, IsTerminator, ModuleOp, ModulePass, Operation, Region


@dataclass(frozen=True)
class Cse(ModulePass):
    """Common subexpression elimination over every kernel."""

    name = "cse"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        superfluous: list[Operation] = []
        _share(op.body, {}, superfluous)
        for each in superfluous:
            each.detach()
            each.erase()


class _Computed:
    """What an operation computes: of two that are equal, the first will do."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.made_of = (type(op), op.properties, op.attributes, tuple(op.operands), op.result_types)
        properties = frozenset(op.properties.values())
        self.hash = hash((type(op), properties, self.made_of[3]))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Computed) or self.made_of != other.made_of:
            return False
        regions = zip(self.op.regions, other.op.regions, strict=True)
        return all(region.is_structurally_equivalent(known) for region, known in regions)


def _share(region: Region, outside: dict[_Computed, Operation], superfluous: list[Operation]) -> None:
    """Lets what is computed `outside` of a region, or in it before, stand for what computes it again."""
    known = dict(outside)
    for block in region.blocks:
        for op in block.ops:
            for inner in op.regions:
                _share(inner, {} if op.has_trait(IsolatedFromAbove) else known, superfluous)
            if op.has_trait(IsTerminator) or not is_pure(op):
                continue
            if is_dead(op):
                superfluous.append(op)
                continue
            first = known.setdefault(_Computed(op), op)
            if first is not op:
                for result, same in zip(op.results, first.results, strict=True):
                    result.replace_all_uses_with(same)
                superfluous.append(op)
