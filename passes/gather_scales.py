"""gather-scales: what a tile of scores is multiplied with and divided by becomes one factor, computed before the loop.

Why: a division costs a dozen instructions for each element of a tile, and a product one. `s / sqrt(D) / cap` divides
twice by what is the same for every key; with the factors gathered it is one product.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @cap f32
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %cap = spec.param "cap" : f32
      %two = arith.constant 2.0 : f32
      %i = tile.program "i" to %M step %keys
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %v = tile.load @x[%j] : f32
        %half = arith.divf %v, %two : f32
        %s = arith.divf %half, %cap : f32
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @cap f32
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %cap = spec.param "cap" : f32
      %two = arith.constant 2.0 : f32
      %i = tile.program "i" to %M step %keys
      %one = arith.constant 1.0 : f32
      %first = arith.divf %one, %two : f32
      %scale = arith.divf %first, %cap : f32
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %v = tile.load @x[%j] : f32
        %s = arith.mulf %v, %scale : f32
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A chain of products and quotients is taken where it has a quotient, or two factors, that the loop does not change and
that are the same for a whole tile.

Requires: tile. Exactness: reassociates products. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant_op, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, SSAValue, arith

Scales = dict[tuple[Block | None, tuple[tuple[SSAValue, bool], ...]], SSAValue]
"""Factors that were gathered, by the block that they stand in and what they are made of."""


@dataclass(frozen=True)
class GatherScales(ModulePass):
    """Gathers the factors of every chain of products and quotients in a loop over tiles."""

    name = "gather-scales"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = Scales()
        for loop in [o for o in of_kind(op, tile.LoopOp) if o.axis is not None]:
            axes = AxesAnalysis()
            # The last of a chain first, so that it is taken as a whole.
            for each in reversed(list(loop.body.block.ops)):
                if isinstance(each, arith.MulfOp | arith.DivfOp) and axes(each.result):
                    _gather(each, loop, axes, made)
        remove_dead(op)


def _gather(last: arith.MulfOp | arith.DivfOp, loop: tile.LoopOp, axes: AxesAnalysis, made: Scales) -> None:
    """Gathers the factors of a chain; loops of a block share the scales that are `made`."""
    steps = tuple(_chain(last, loop, axes))
    if not any(divides for _, divides in steps) and len(steps) < 2:
        return
    value: SSAValue = last.result
    for _ in steps:
        op = value.owner
        assert isinstance(op, arith.MulfOp | arith.DivfOp)
        value = op.rhs if isinstance(op, arith.MulfOp) and _is_scale(op.lhs, loop, axes) else op.lhs
    if (loop.parent, steps) not in made:
        scale = insert_before(loop, constant_op(1.0, last.result.type))
        for factor, divides in reversed(steps):
            scale = insert_before(loop, (arith.DivfOp if divides else arith.MulfOp)(scale, factor), "scale")
        made[loop.parent, steps] = scale
    product = arith.MulfOp(value, made[loop.parent, steps])
    replace(last, [insert_before(last, product, last.result.name_hint)])


def _chain(last: Operation, loop: tile.LoopOp, axes: AxesAnalysis) -> Iterator[tuple[SSAValue, bool]]:
    """The factors that do not change of a chain, from its end, and whether each divides."""
    op: object = last
    while isinstance(op, arith.MulfOp | arith.DivfOp) and (op is last or op.parent is last.parent):
        if _is_scale(op.rhs, loop, axes):
            yield op.rhs, isinstance(op, arith.DivfOp)
            op = op.lhs.owner
        elif isinstance(op, arith.MulfOp) and _is_scale(op.lhs, loop, axes):
            yield op.lhs, False
            op = op.rhs.owner
        else:
            return


def _is_scale(value: SSAValue, loop: tile.LoopOp, axes: AxesAnalysis) -> bool:
    """Whether a factor was there before the loop, and is the same for a whole tile."""
    return not axes(value) and not loop.is_ancestor(value.owner)
