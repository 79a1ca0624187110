"""guess-finite: a product is taken as if what it leaves out were finite, and again, exactly, where it is not finite.

Why: a key that a row does not see has weight 0, and 0 times NaN is NaN: a product that leaves terms out is no matrix
product. But values that are absent are hardly ever NaN or infinite, and then the matrix product is right. Where they
are, it is not finite, which one look at it tells.

Before:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i = tile.range "i" from %zero to %M size %M
      %j = tile.range "j" from %zero to %N size %N
      %e = tile.range "e" from %zero to %E size %E
      %seen = arith.cmpi sge, %i, %j : index
      %p = tile.load @p[%i, %j] where %seen : f32
      %v = tile.load @v[%j, %e] : f32
      %sum = tile.dot %p, %v over %j where %seen : f32
      tile.store @o[%i, %e] = %sum : f32
    }

After:

    spec.tensor @p "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N", "E"]
    spec.tensor @o "output" "f32" ["M", "E"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %E = spec.dim "E"
      %i = tile.range "i" from %zero to %M size %M
      %j = tile.range "j" from %zero to %N size %N
      %e = tile.range "e" from %zero to %E size %E
      %seen = arith.cmpi sge, %i, %j : index
      %p = tile.load @p[%i, %j] where %seen : f32
      %v = tile.load @v[%j, %e] : f32
      %guess = tile.dot %p, %v over %j : f32
      %finite = tile.finite %guess : f32
      %true = arith.constant true
      %odd = arith.xori %finite, %true : i1
      %sum = scf.if %odd -> (f32) {
        %exact = tile.dot %p, %v over %j where %seen : f32
        scf.yield %exact : f32
      } else {
        scf.yield %guess : f32
      }
      tile.store @o[%i, %e] = %sum : f32
    }

What is left out has weight 0, or NaN: if it adds something, that is NaN. So a product that is finite is the exact one.
A product that stands under a condition already is left as it is.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant_op, guarded, insert_before
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, Region, arith, i1, scf


@dataclass(frozen=True)
class GuessFinite(ModulePass):
    """Puts every product that leaves terms out behind a look at the one that leaves none out."""

    name = "guess-finite"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dot in of_kind(op, tile.DotOp):
            if dot.where is not None and not isinstance(dot.parent_op(), scf.IfOp):
                _guess(dot)


def _guess(dot: tile.DotOp) -> None:
    guess = insert_before(dot, guarded(dot, None), dot.result.name_hint)
    finite = insert_before(dot, tile.FiniteOp(guess))
    odd = insert_before(dot, arith.XOrIOp(finite, insert_before(dot, constant_op(True, i1))))
    exact, kept = Block(), Block([scf.YieldOp(guess)])
    choice = scf.IfOp(odd, [guess.type], Region(exact), Region(kept))
    result = insert_before(dot, choice, dot.result.name_hint)
    dot.result.replace_all_uses_with(result)
    moved: Operation = dot
    moved.detach()
    exact.add_ops([dot, scf.YieldOp(dot.result)])
    for last in (exact.last_op, kept.last_op):
        assert last is not None
        last.location = dot.location
