"""gather-terms: numbers that are added to a tile of indices are added up first, and constants cancel.

Why: `i + N + 1 - M` is three sums over a tile where one will do, `i + (N + 1 - M)`. NumPy takes half a microsecond for
each, however small the tile is, and Python a tenth of that for numbers.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %one = arith.constant 1 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %t = arith.addi %i, %N : index
      %t1 = arith.addi %t, %one : index
      %end = arith.subi %t1, %M : index
      %v = tile.load @x[%end] : f32
      tile.store @o[%i] = %v : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %one1 = arith.constant 1 : index
      %t = arith.addi %N, %one1 : index
      %t1 = arith.subi %t, %M : index
      %end = arith.addi %i, %t1 : index
      %v = tile.load @x[%end] : f32
      tile.store @o[%i] = %v : f32
    }

A sum is taken as a whole as far as its parts have all of its axes and go nowhere else: a smaller tile is cheaper to add
to. It changes where fewer operations are left.

Requires: tile. Exactness: bit-exact, as sums of indices wrap. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant, index_constant, insert_before, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith, index

Sum = arith.AddiOp | arith.SubiOp


@dataclass(frozen=True)
class GatherTerms(ModulePass):
    """Adds up the numbers among the terms of every sum of indices."""

    name = "gather-terms"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        axes = AxesAnalysis()
        # The last of a chain first, so that it is taken as a whole; its parts come later, and are gone then.
        for each in reversed([o for o in operations(op) if isinstance(o, Sum | arith.ConstantOp)]):
            if not list(each.result.uses) and (block := each.parent) is not None:
                block.erase_op(each)
            elif isinstance(each, Sum) and each.result.type == index:
                _gather(each, axes)


def _gather(total: Sum, axes: AxesAnalysis) -> None:
    terms = list(_terms(total, total, axes))
    tiles = [term for term in terms if axes(term[0])]
    numbers = [term for term in terms if not axes(term[0])]
    known = [constant(value) for value, _ in numbers]
    fixed = sum(int(number) * sign for number, (_, sign) in zip(known, numbers, strict=True) if number is not None)
    left = [term for number, term in zip(known, numbers, strict=True) if number is None]
    now = len(tiles) + len(left) + (fixed != 0) - 1
    adds = len(tiles) - 1 + (bool(left) or fixed != 0) if tiles else now
    if (adds, now) >= (len(terms) - 1, len(terms) - 1) or all(sign < 0 for _, sign in [*tiles, *left]):
        return
    if fixed:
        left.append((insert_before(total, index_constant(abs(fixed))), 1 if fixed > 0 else -1))
    parts = tiles
    if left:
        sign = 1 if any(sign > 0 for _, sign in left) else -1
        parts = [*tiles, (_sum(total, [(value, own * sign) for value, own in left]), sign)]
    found = _sum(total, parts)
    if len(parts) > 1:
        found.name_hint = total.result.name_hint
    replace(total, [found])


def _terms(total: Sum, op: Sum, axes: AxesAnalysis, sign: int = 1) -> Iterator[tuple[SSAValue, int]]:
    """What a sum adds up, from the left, each with 1 or -1 where it is subtracted."""
    for value, own in ((op.lhs, sign), (op.rhs, -sign if isinstance(op, arith.SubiOp) else sign)):
        part = value.owner
        inner = isinstance(part, Sum) and part.parent is total.parent and len(tile.users(value)) == 1
        if inner and axes(value) == axes(total.result):
            assert isinstance(part, Sum)
            yield from _terms(total, part, axes, own)
        else:
            yield value, own


def _sum(anchor: Sum, terms: Sequence[tuple[SSAValue, int]]) -> SSAValue:
    """Terms added up, one that is not subtracted first."""
    first, *others = sorted(terms, key=lambda term: -term[1])
    found = first[0]
    for value, sign in others:
        found = insert_before(anchor, (arith.AddiOp if sign > 0 else arith.SubiOp)(found, value))
    return found
