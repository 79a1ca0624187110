"""The loop over key positions: what it carries, and how a tile of keys is folded into it."""

from __future__ import annotations

import math as numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attndsl.ir import attn, tile
from attndsl.ir.hints import hint
from attndsl.ir.keys import Reduction, common_conjuncts, conjuncts, over_of
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, Operation, Region, SSAValue, arith, scf
from attndsl.passes.tile.builder import Scope
from attndsl.passes.tile.contraction import Contraction, Lanes, contraction

if TYPE_CHECKING:
    from attndsl.passes.tile.lowering import Lowering


Plans = Mapping[Reduction, list[Contraction]]


class Span(NamedTuple):
    """Where a loop over keys starts and stops, its step, and the ends that differ from row to row, to be tested."""

    low: SSAValue
    high: SSAValue
    step: SSAValue
    ends: list[tuple[str, SSAValue]]


class KeyLoop:
    """One pass over the keys of a tile of rows, folding some reductions: `KeyLoop(lowering, reductions).lower()`."""

    def __init__(self, lowering: Lowering, reductions: list[Reduction]) -> None:
        over = over_of(lowering.source)
        assert over is not None, "what is reduced is reduced over keys"
        self.over = over
        self.lowering = lowering
        self.build = lowering.build
        self.outside = lowering.outermost.block
        self.reductions = reductions
        self.lane: SSAValue | None = None  # None: one key at a time
        self.guessing = False  # that what a row does not see is finite

    def lower(self) -> None:
        """Adds the loop to the program, and lets its results stand for those of the reductions."""
        lowering, build, over = self.lowering, self.build, self.over
        lowering.need(over.operands)
        build.location = over.location
        low, high, ends = self.range()
        plans: Plans = {op: self.plans(op) for op in self.reductions}
        sequential = any(plan.form == "loop" for found in plans.values() for plan in found)
        plans = _in_turn(plans) if sequential else plans
        step = build.number(1) if sequential else build.size(lowering.keys_asked, "KEYS")
        span = Span(*self.part(low, high, step), step, ends)
        self.guessing = lowering.whole and not sequential and bool(self.at_risk(plans))
        folded = self.loop(span, plans, sequential)
        if self.guessing:
            folded = self.again_unless_finite(span, plans, folded)
        results = [result for op in self.reductions for result in op.results]
        for old, new in zip(results, folded, strict=True):
            new.name_hint = old.name_hint
            lowering.outermost.values[old] = new

    def loop(self, span: Span, plans: Plans, sequential: bool) -> list[SSAValue]:
        """Adds one loop, over tiles of keys or `sequential`, over single keys; gives the states that it ends with."""
        lowering, build, over = self.lowering, self.build, self.over
        starts = [state for op in self.reductions for state in self.start(op)]
        build.location = over.location  # what the starts rest on may come from elsewhere
        self.block = block = build.loop_block(starts)
        name = over.variable.data
        block.args[0].name_hint = hint(name if sequential else f"{name}0")
        scope = Scope(block, over.result, {over.result: block.args[0]})
        lowering.scopes.append(scope)
        if not sequential:
            step = span.step
            end = build.add(arith.AddiOp(block.args[0], step), block, f"{name}_end") if lowering.whole else span.high
            self.lane = build.add(tile.LaneOp(name, block.args[0], end, step), block, name)
            scope.values[over.result] = self.lane
        key = scope.values[over.result]
        lowering.inside = [build.add(arith.CmpiOp(end, key, predicate), block, "seen") for predicate, end in span.ends]
        if lowering.whole and not sequential:
            lowering.before_end = [build.add(arith.CmpiOp(span.high, key, "sgt"), block, f"{name}_in")]
            lowering.inside += [] if any(predicate == "sgt" for predicate, _ in span.ends) else lowering.before_end
        carried, ended = list(block.args[1:]), []
        for op in self.reductions:
            lowering.need(self.wanted(op, plans[op]))
            build.location = op.location
            where = [lowering.get(c) for c in conjuncts(op.where)] + lowering.inside
            ended += self.fold(op, plans[op], carried[: len(op.results)], where)
            carried = carried[len(op.results) :]
        self.present()
        build.place(scf.YieldOp(*ended), block)
        lowering.scopes.pop()
        lowering.before_end = []
        build.location = over.location
        loop = scf.ForOp(span.low, span.high, build.number(1) if sequential else span.step, starts, Region(block))
        build.place(loop, self.outside)
        return list(loop.results)

    # --- keys that some rows of a tile see, and others do not

    def at_risk(self, plans: Plans) -> list[SSAValue]:
        """The sums that are matrix products of keys of which each row has its own.

        A product has 0 for a key that a row does not see; where the value there is NaN or infinite, the sum is NaN.
        """
        risks: list[SSAValue] = []
        for op, found in plans.items():
            tested = self.condition_lanes(op) - {self.over.result}
            sums = op.sums if isinstance(op, attn.StreamOp) else op.results
            risks += [result for result, plan in zip(sums, found, strict=False) if tested and plan.form == "dot"]
        return risks

    def again_unless_finite(self, span: Span, plans: Plans, folded: list[SSAValue]) -> list[SSAValue]:
        """The states, folded again key by key, and exactly, where a sum at risk is not finite.

        A tile that meets no NaN and no infinity, which is every tile of a sound model, pays one test at its end. What
        is not finite stays so to the end of the loop, however it is rescaled.
        """
        build, outside = self.build, self.outside
        results: list[SSAValue] = [result for op in self.reductions for result in op.results]
        finite: list[SSAValue] = []
        for result in self.at_risk(plans):
            # 0 times what is not finite is NaN, and so is the sum: one operation for each element.
            state = folded[results.index(result)]
            odd = build.add(arith.MulfOp(state, build.constant(0.0, state.type)), outside)
            for lane in sorted(build.axes(odd), key=self.lowering.order_of, reverse=True):
                odd = build.add(tile.SumOp(odd, lane), outside)
            test = build.add(arith.CmpfOp(odd, build.constant(0.0, state.type), "oeq"), outside)
            finite.append(test)
        sound = build.conjunction(finite, outside)
        assert sound is not None
        otherwise = Block()
        self.outside, self.lane, self.guessing = otherwise, None, False
        with self.lowering.apart(otherwise):
            exact = self.loop(span, _in_turn(plans), True)
        build.place(scf.YieldOp(*exact), otherwise)
        self.outside = outside
        kept = Block()
        build.place(scf.YieldOp(*folded), kept)
        choice = scf.IfOp(sound, [state.type for state in folded], Region(kept), Region(otherwise))
        build.place(choice, outside)
        return list(choice.results)

    def present(self) -> None:
        """Says in the loop which keys count at all."""
        shared = common_conjuncts(self.reductions)
        if shared and self.lane is not None:
            self.build.place(tile.PresentOp([self.lowering.get(c) for c in shared]), self.block)

    def range(self) -> tuple[SSAValue, SSAValue, list[tuple[str, SSAValue]]]:
        """Where the loop starts and stops, and the ends that differ from row to row, which it must test."""
        low = self.lowering.get(self.over.start) if self.over.start is not None else self.build.number(0)
        high = self.lowering.get(self.over.extent)
        ends = [(p, end) for p, end in (("sle", low), ("sgt", high)) if self.build.axes(end)]
        for lane in self.build.axes(low):
            low = self.build.add(tile.MinOp(low, lane), self.outside, "start")
        for lane in self.build.axes(high):
            high = self.build.add(tile.MaxOp(high, lane), self.outside, "stop")
        return low, high, ends

    def part(self, low: SSAValue, high: SSAValue, keys: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Where the program's part of the loop starts and stops: parts have equally many tiles, the last ones fewer."""
        over, get = self.over, self.lowering.get
        if over.part is None or over.parts is None:
            return low, high

        def add(op: Operation, name: str | None = None) -> SSAValue:
            return self.build.add(op, self.outside, name)

        length = add(arith.MaxSIOp(add(arith.SubiOp(high, low)), self.build.number(0)), "length")
        tiles = add(arith.MuliOp(get(over.parts), keys))
        rounding = add(arith.SubiOp(add(arith.AddiOp(length, tiles)), self.build.number(1)))
        share = add(arith.MuliOp(add(arith.FloorDivSIOp(rounding, tiles)), keys), "share")
        # Whole tiles, so that every part starts at a multiple of a tile.
        above = add(arith.SubiOp(add(arith.AddiOp(length, keys)), self.build.number(1)))
        covering = add(arith.MuliOp(add(arith.FloorDivSIOp(above, keys)), keys), "covering")
        first = add(arith.MinSIOp(covering, add(arith.MuliOp(get(over.part), share))), "first")
        last = add(arith.MinSIOp(length, add(arith.AddiOp(first, share))), "last")
        return add(arith.AddiOp(low, first), "start"), add(arith.AddiOp(low, last), "stop")

    def plans(self, op: Reduction) -> list[Contraction]:
        """How the sums of a reduction are computed, in the order of its results."""
        lanes, over = self.lowering.lanes, self.over.result
        match op:
            case attn.StreamOp():
                weight = self.condition_lanes(op) | lanes(op.score) | {over}
                return [contraction(value, over, lanes, weight) for value in op.values]
            case attn.TotalOp():
                return [contraction(op.body, over, lanes, self.condition_lanes(op) | {over})]
        return []

    def condition_lanes(self, op: Reduction) -> Lanes:
        """The lanes of the conditions under which a key counts."""
        lanes = self.lowering.lanes
        conditions = [*conjuncts(op.where), *(end for end in (self.over.start, self.over.extent) if end is not None)]
        return frozenset[SSAValue]().union(*(lanes(condition) for condition in conditions))

    @staticmethod
    def wanted(op: Reduction, plans: list[Contraction]) -> Iterable[SSAValue]:
        """What folding a tile of keys into a reduction takes."""
        yield from conjuncts(op.where)
        if isinstance(op, attn.StreamOp):
            yield op.score
        if isinstance(op, attn.MaxOp):
            yield op.body
        for plan in plans:
            yield from plan.values

    def start(self, op: Reduction) -> list[SSAValue]:
        """The state of a reduction before the first key."""
        states = []
        for n, result in enumerate(op.results):
            maximum = isinstance(op, attn.MaxOp) or (isinstance(op, attn.StreamOp) and n == 0)
            value = self.build.constant(-numbers.inf if maximum else 0.0, result.type)
            lanes = self.lowering.target_lanes(self.lowering.lanes(result))
            states.append(self.build.add(tile.SpreadOp(value, lanes), self.outside, result.name_hint))
        return states

    # --- folding a tile of keys

    def fold(
        self, op: Reduction, plans: list[Contraction], state: Sequence[SSAValue], where: list[SSAValue]
    ) -> list[SSAValue]:
        """The state of a reduction after one more tile of keys."""
        match op:
            case attn.StreamOp():
                return self.fold_stream(op, plans, state, where)
            case attn.TotalOp():
                one = self.build.constant(1.0, op.result.type)
                weight = self.build.select(where, one, self.block) if plans[0].form == "dot" and where else None
                part = self.sum(plans[0], weight, where)
                return [self.build.add(arith.AddfOp(state[0], part), self.block, op.result.name_hint)]
            case attn.MaxOp():
                body = self.build.select(where, self.lowering.get(op.body), self.block, -numbers.inf)
                largest = arith.MaximumfOp(state[0], self.largest(body))
                return [self.build.add(largest, self.block, op.result.name_hint)]
        raise AssertionError(f"{op.name} is not streamed")

    def fold_stream(
        self, op: attn.StreamOp, plans: list[Contraction], state: Sequence[SSAValue], where: list[SSAValue]
    ) -> list[SSAValue]:
        """The online softmax: rescale what is carried to the larger maximum, then add the tile."""
        add, block = self.build.add, self.block
        maximum, total, *sums = state
        score, scale = self.unscaled(self.lowering.get(op.score))
        score = self.build.select(where, score, block, -numbers.inf)
        score = self.build.along(score, self.lane, block) if self.lane is not None else score
        largest = self.largest(score)
        if scale is not None:
            # The largest of the scaled is the scaled largest; the product below joins the subtraction.
            largest = add(arith.MulfOp(largest, scale), block)
            score = add(arith.MulfOp(score, scale), block)
        larger = add(arith.MaximumfOp(maximum, largest), block, "m_new")
        # While nothing is present the maximum is -inf: a finite shift keeps the power of -inf - shift at 0.
        lowest = self.build.constant(-numbers.inf, op.maximum.type)
        nothing = add(arith.CmpfOp(larger, lowest, "oeq"), block)
        shift = add(arith.SelectOp(nothing, self.build.constant(0.0, op.maximum.type), larger), block, "shift")
        weight = add(op.power(add(arith.SubfOp(score, shift), block)), block, "p")
        scale = add(op.power(add(arith.SubfOp(maximum, shift), block)), block, "alpha")
        part = add(tile.SumOp(weight, self.lane), block) if self.lane is not None else weight
        ended = [larger, add(arith.AddfOp(add(arith.MulfOp(total, scale), block), part), block, "l")]
        for old, plan, result in zip(sums, plans, op.sums, strict=True):
            part = self.sum(plan, weight, where)
            rescaled = add(arith.MulfOp(old, scale), block)
            ended.append(add(arith.AddfOp(rescaled, part), block, result.name_hint))
        return ended

    @staticmethod
    def unscaled(score: SSAValue) -> tuple[SSAValue, SSAValue | None]:
        """A score without the positive number that it is multiplied with, and that number."""
        op = score.owner
        if isinstance(op, arith.MulfOp) and (constant(op.rhs) or 0) > 0:
            return op.lhs, op.rhs
        return score, None

    def sum(self, plan: Contraction, weight: SSAValue | None, where: list[SSAValue]) -> SSAValue:
        """The sum over a tile of keys of `weight` times the plan's product, where all of `where` hold."""
        lowering = self.lowering
        if self.lane is not None:
            return lowering.contract(plan, self.lane, weight, where, lowering.scopes[-1], exact=not self.guessing)
        product = lowering.finish(plan, lowering.product(weight, plan.left, self.block), self.block)
        return self.build.select(where, product, self.block)

    def largest(self, value: SSAValue) -> SSAValue:
        """The largest over a tile of keys."""
        if self.lane is None:
            return value
        return self.build.add(tile.MaxOp(self.build.along(value, self.lane, self.block), self.lane), self.block)


def _in_turn(plans: Plans) -> Plans:
    """The same sums, one key at a time: where one of them has to be, all of them are."""
    return {op: [plan.in_turn() for plan in found] for op, found in plans.items()}
