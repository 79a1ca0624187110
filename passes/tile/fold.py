"""How a tile of keys is folded into the states of a reduction."""

from __future__ import annotations

import math as numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attndsl.ir import attn, tile
from attndsl.ir.keys import Folded, conjuncts
from attndsl.ir.monoids import MAX, MIN, Monoid
from attndsl.ir.rewrite import constant
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import Block, SSAValue, arith
from attndsl.passes.tile.contraction import ContractionPlan
from attndsl.passes.tile.lowering import Lowering
from attndsl.passes.tile.where import Where


def wanted(op: Folded, plans: list[ContractionPlan]) -> Iterable[SSAValue]:
    """What folding a tile of keys into a reduction takes."""
    yield from conjuncts(op.where)
    yield from op.folded
    if isinstance(op, attn.ScatterOp):
        yield from op.indices
    for plan in plans:
        yield from plan.values


def start(lowering: Lowering, at: Where, op: Folded) -> list[SSAValue]:
    """The states of a reduction before the first key."""
    states = []
    for result, identity in zip(op.results, op.identities, strict=True):
        value = at.build.constant(identity, result.type)
        axes = lowering.target_axes(lowering.tile_axes(result, at), at)
        states.append(at.build.add(tile.BroadcastOp(value, axes), at.outermost.block, result.name_hint))
    return states


@dataclass(frozen=True)
class TileFold:
    """Folds the tile of keys along `axis`, or where that is None a single key, at the innermost place of `at`.

    Unless it is `exact`, what a row does not see is taken to be finite.
    """

    lowering: Lowering
    at: Where
    axis: SSAValue | None
    exact: bool

    @property
    def block(self) -> Block:
        """The body of the loop over keys."""
        return self.at.scopes[-1].block

    def fold(
        self, op: Folded, plans: list[ContractionPlan], states: Sequence[SSAValue], where: list[SSAValue]
    ) -> list[SSAValue]:
        """The states of a reduction after one more tile of keys."""
        if isinstance(op, attn.StreamOp):
            return self.fold_stream(op, plans, states, where)
        if isinstance(op, attn.ArgMaxOp):
            return self.fold_position(op, states, where)
        if isinstance(op, attn.ScatterOp):
            self.scatter(op, plans[0], where)
            return []
        monoid, build = monoid_of(op), self.at.build
        if plans:
            part = self.sum(plans[0], None, where)
        else:
            body = self.lowering.get(op.body, self.at)
            part = self.along_keys(monoid, build.select(where, body, self.block, monoid.identity(body.type)))
        return [build.add(monoid.combine(states[0], part), self.block, op.result.name_hint)]

    def fold_stream(
        self, op: attn.StreamOp, plans: list[ContractionPlan], state: Sequence[SSAValue], where: list[SSAValue]
    ) -> list[SSAValue]:
        """The online softmax: rescale what is carried to the larger maximum, then add the tile."""
        add, block = self.at.build.add, self.block
        maximum, total, *sums = state
        score, scale = self.unscaled(self.lowering.get(op.score, self.at))
        score = self.at.build.select(where, score, block, -numbers.inf)
        score = self.at.build.along(score, self.axis, block) if self.axis is not None else score
        largest = self.along_keys(MAX, score)
        if scale is not None:
            # The largest of the scaled is the scaled largest; the product below joins the subtraction.
            largest = add(arith.MulfOp(largest, scale), block)
            score = add(arith.MulfOp(score, scale), block)
        larger = add(arith.MaximumfOp(maximum, largest), block, "m_new")
        algebra, terms = op.algebra, self.at.build.terms(block, op.maximum.type)
        shift = algebra.shift(larger, terms)
        weight = algebra.power(score, shift, terms)
        scale = algebra.power(maximum, shift, terms)
        shift.name_hint, weight.name_hint, scale.name_hint = "shift", "p", "alpha"
        self.at.build.place(tile.WithinOp(weight, 0.0, 1.0), block)
        part = add(tile.SumOp(weight, self.axis), block) if self.axis is not None else weight
        ended = [larger, algebra.rescaled(total, scale, part, terms)]
        ended[-1].name_hint = "l"
        for old, plan, result in zip(sums, plans, op.sums, strict=True):
            part = self.sum(plan, weight, where)
            ended.append(algebra.rescaled(old, scale, part, terms))
            ended[-1].name_hint = result.name_hint
        return ended

    def fold_position(self, op: attn.ArgMaxOp, states: Sequence[SSAValue], where: list[SSAValue]) -> list[SSAValue]:
        """The largest score so far, and the least place of those that are equal to it, in the tile and before."""
        build, block = self.at.build, self.block
        score, place = (
            build.select(where, self.lowering.get(value, self.at), block, identity)
            for value, identity in zip(op.folded, op.identities, strict=True)
        )
        none = build.constant(op.identities[1], op.position.type)

        def where_largest(score: SSAValue, largest: SSAValue, place: SSAValue) -> SSAValue:
            equal = build.add(arith.CmpfOp(score, largest, "oeq"), block)
            return build.add(arith.SelectOp(equal, place, none), block)

        if self.axis is None:
            largest, least = score, place
        else:
            score = build.along(score, self.axis, block)
            largest = self.along_keys(MAX, score)
            least = self.along_keys(MIN, where_largest(score, largest, place))
        larger = build.add(arith.MaximumfOp(states[0], largest), block, op.maximum.name_hint)
        both = where_largest(states[0], larger, states[1]), where_largest(largest, larger, least)
        return [larger, build.add(arith.MinSIOp(*both), block, op.position.name_hint)]

    def scatter(self, op: attn.ScatterOp, plan: ContractionPlan, where: list[SSAValue]) -> None:
        """Adds to elements what all rows of the tile have for the keys, each of which is an element's own.

        Without rows it is what the program has. A GPU takes what a row does not see to be finite: who reads the sums
        asks whether they are, and makes them anew.
        """
        lowering, at, block = self.lowering, self.at, self.block
        if at.rows is None:
            product = lowering.finish(plan, lowering.product(None, plan.left, at, block), at, block)
            value = at.build.select(where, product, block)
        else:
            value = lowering.contract(plan, at.rows, None, where, at, block, exact=not lowering.fixed)
        indices = [lowering.get(place, at) for place in op.indices]
        assert not any(at.rows in at.build.axes(place) for place in indices), "rows of a tile have no elements apart"
        there = at.build.conjunction(at.before_end, block)
        at.build.place(tile.StoreOp(op.tensor, indices, value, there, lowering.programs(op, at)), block)

    @staticmethod
    def unscaled(score: SSAValue) -> tuple[SSAValue, SSAValue | None]:
        """A score without the positive number that it is multiplied with, and that number."""
        op = score.owner
        if isinstance(op, arith.MulfOp) and (constant(op.rhs) or 0) > 0:
            return op.lhs, op.rhs
        return score, None

    def sum(self, plan: ContractionPlan, weight: SSAValue | None, where: list[SSAValue]) -> SSAValue:
        """The sum over a tile of keys of `weight` times the plan's product, where all of `where` hold."""
        lowering, at, block = self.lowering, self.at, self.block
        if self.axis is not None:
            return lowering.contract(plan, self.axis, weight, where, at, block, self.exact)
        product = lowering.finish(plan, lowering.product(weight, plan.left, at, block), at, block)
        return at.build.select(where, product, block)

    def along_keys(self, monoid: Monoid, value: SSAValue) -> SSAValue:
        """What a tile of keys folds to."""
        if self.axis is None:
            return value
        axis, build, block = self.axis, self.at.build, self.block
        return build.add(tile.reduction(monoid)(build.along(value, axis, block), axis), block)
