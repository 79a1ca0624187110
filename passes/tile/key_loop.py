"""The loop over key positions: from where to where it runs, what it carries, and when it runs again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from attndsl.choices import KEYS
from attndsl.ir import attn, spec, tile
from attndsl.ir.hints import hint
from attndsl.ir.keys import Folded, common_conjuncts, conjuncts, factors_of
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import AnyFloat, Block, Operation, Region, SSAValue, arith, math, scf
from attndsl.passes.tile.builder import TileBuilder, order_of
from attndsl.passes.tile.contraction import ContractionPlan, contraction, product
from attndsl.passes.tile.fold import TileFold, start, wanted
from attndsl.passes.tile.lowering import Lowering
from attndsl.passes.tile.where import BlockScope, Where

Plans = Mapping[Folded, list[ContractionPlan]]


class KeySpan(NamedTuple):
    """Where a loop over keys starts and stops, its step, and the ends of the rows' own keys, where they differ."""

    low: SSAValue
    high: SSAValue
    step: SSAValue
    row_start: SSAValue | None
    row_stop: SSAValue | None


@dataclass(frozen=True)
class KeyLoop:
    """One pass over the keys of a tile of rows, folding some reductions: `KeyLoop(...).lower()`.

    `at` is where the loop stands, `over` the variable of its keys, `keys` the size of its tiles, `fixed` or not.
    """

    lowering: Lowering
    at: Where
    over: attn.OverOp
    reductions: Sequence[Folded]
    keys: int
    fixed: bool

    @property
    def build(self) -> TileBuilder:
        """Adds operations that come from the variable of the keys."""
        return self.at.build.of(self.over)

    @property
    def outside(self) -> Block:
        """The block that the loop stands in."""
        return self.at.outermost.block

    def lower(self) -> dict[SSAValue, SSAValue]:
        """Adds the loop to the program; what each result of the reductions has become."""
        build = self.build
        within = self.over.within
        self.lowering.need([v for v in self.over.operands if v is not within], self.at)
        if within is not None:
            self.lowering.need([outer_of(within).extent], self.at)
        low, high, *own = self.range()
        plans: Plans = {op: self.plans(op) for op in self.reductions}
        sequential = any(plan.form == "loop" for found in plans.values() for plan in found)
        plans = _in_turn(plans) if sequential else plans
        step = build.number(1) if sequential else build.size(self.keys, KEYS)
        span = KeySpan(*self.split(low, high, step), step, *own)
        guessing = self.fixed and not sequential and bool(self.at_risk(plans))
        given = self.given()
        folded = given or self.loop(span, plans, sequential, exact=not guessing)
        if guessing:
            folded = self.again_unless_finite(span, plans, folded)
        results = [result for op in self.reductions for result in op.results]
        for old, new in zip(results, folded, strict=True):
            new.name_hint = old.name_hint
        return dict(zip(results, folded, strict=True))

    def given(self) -> list[SSAValue]:
        """The states that other kernels have folded, where they have all."""
        values = [op.given for op in self.reductions if isinstance(op, attn.TotalOp) and op.given is not None]
        self.lowering.need(values, self.at)
        return [self.lowering.get(value, self.at) for value in values]

    def loop(self, span: KeySpan, plans: Plans, sequential: bool, exact: bool) -> list[SSAValue]:
        """Adds one loop, over tiles of keys or `sequential`, over single keys; gives the states that it ends with.

        Unless it is `exact`, what a row does not see is taken to be finite.
        """
        build, over, name = self.build, self.over, self.over.variable.data
        starts = [state for op in self.reductions for state in self.start(op)]
        block = build.loop_block(starts)
        block.args[0].name_hint = hint(name if sequential else f"{name}0")
        place = self.at
        if over.within is not None:
            outer = outer_of(over.within)
            turns = tile.OuterLoopOp(outer.variable.data, self.lowering.get(outer.extent, self.at))
            turn = build.add(turns, block, outer.variable.data)
            place = place.within(BlockScope(block, outer.result, {outer.result: turn}))
        scope = BlockScope(block, over.result, {over.result: block.args[0]})
        axis: SSAValue | None = None
        before_end: list[SSAValue] = []
        if not sequential:
            step = span.step
            end = build.add(arith.AddiOp(block.args[0], step), block, f"{name}_end") if self.fixed else span.high
            axis = scope.values[over.result] = build.add(tile.RangeOp(name, block.args[0], end, step), block, name)
        key = scope.values[over.result]
        ends = (("sle", span.row_start), ("sgt", span.row_stop))
        own = [build.add(arith.CmpiOp(end, key, p), block, "seen") for p, end in ends if end is not None]
        if self.fixed and not sequential:
            before_end = [build.add(arith.CmpiOp(span.high, key, "sgt"), block, f"{name}_in")]
            own += before_end if span.row_stop is None else []
        at = replace(place.of(over).within(scope), own=tuple(own), before_end=tuple(before_end))
        carried, ended = list(block.args[1:]), []
        self.lowering.guarded = frozenset() if exact else self.guarded(plans)
        for op in self.reductions:
            self.lowering.need(wanted(op, plans[op]), at)
            where = [self.lowering.get(c, at) for c in conjuncts(op.where)] + own
            fold = TileFold(self.lowering, at.of(op), axis, exact)
            ended += fold.fold(op, plans[op], carried[: len(op.results)], where)
            carried = carried[len(op.results) :]
        self.lowering.guarded = frozenset()
        last = at.build.of(self.reductions[-1])
        shared = common_conjuncts(self.reductions)
        if shared and axis is not None:
            last.place(tile.PresentOp([self.lowering.get(c, at) for c in shared]), block)
        last.place(tile.YieldOp(*ended), block)
        step = build.number(1) if sequential else span.step
        loop = tile.LoopOp(span.low, span.high, step, starts, Region(block), span.row_start, span.row_stop)
        build.place(loop, self.outside)
        return list(loop.results)

    def guarded(self, plans: Plans) -> frozenset[SSAValue]:
        """Factors that are all of what one sum multiplies its values with, and more than one of what another does.

        Where it has 0 of such a factor for what a row does not see, the other needs no 0 of its own: as a gradient of
        scores is a weight times another one. Two choices by one mask of rows and keys took a GPU's registers and half
        the instructions of a turn. What a factor is multiplied with there must not overflow by itself, as an
        exponential of a distance may: every tile would be folded again.
        """
        if len({op.where for op in self.reductions}) > 1:
            return frozenset()
        lefts = [plan.left for op, found in plans.items() for plan in found if plan.form == "dot"]
        alone = {left[0] for left in lefts if len(left) == 1}
        shared = [(factor, set(left) - {factor}) for left in lefts for factor in left if len(set(left)) > 1]
        return frozenset(factor for factor, others in shared if factor in alone and all(map(_is_tame, others)))

    def start(self, op: Folded) -> list[SSAValue]:
        """The states of a reduction before the first key."""
        return start(self.lowering, self.at.of(self.over), op)

    # --- keys that some rows of a tile see, and others do not

    def at_risk(self, plans: Plans) -> list[SSAValue]:
        """The sums that are matrix products of keys of which each row has its own.

        A product has 0 for a key that a row does not see; where the value there is NaN or infinite, the sum is NaN.
        """
        risks: list[SSAValue] = []
        for op, found in plans.items():
            tested = bool(self.condition_axes(op) - {self.over.result}) or self.hides(op)
            sums = op.sums if isinstance(op, attn.StreamOp) else op.results
            risks += [result for result, plan in zip(sums, found, strict=False) if tested and plan.form == "dot"]
        return risks

    def hides(self, op: Folded) -> bool:
        """Whether what another kernel has summed may be of keys that none sees: that has 0 for these, as for others."""
        if not isinstance(op, attn.TotalOp) or op.given is None:
            return False
        return op.where is not None or self.over.start is not None or not isinstance(self.over.extent.owner, spec.DimOp)

    def again_unless_finite(self, span: KeySpan, plans: Plans, folded: list[SSAValue]) -> list[SSAValue]:
        """The states, folded again key by key, and exactly, where a sum at risk is not finite.

        A tile that meets no NaN and no infinity, which is every tile of a sound model, pays one test at its end. What
        is not finite stays so to the end of the loop, however it is rescaled.
        """
        build, outside = self.build, self.outside
        results: list[SSAValue] = [result for op in self.reductions for result in op.results]
        states = [folded[results.index(result)] for result in self.at_risk(plans)]
        shared = set.intersection(*(set(build.axes(state)) for state in states))
        if len(states) == 1 and len(shared) > 1:
            shared.remove(max(shared, key=order_of))
        odd: SSAValue | None = None
        for state in states:
            # A sum is finite where all of it is, but for sums that overflow, and 0 times what is not is NaN: one
            # operation for each element.
            for axis in sorted(set(build.axes(state)) - shared, key=order_of, reverse=True):
                state = build.add(tile.SumOp(state, axis), outside)
            none = build.add(arith.MulfOp(state, build.constant(0.0, state.type)), outside)
            odd = none if odd is None else build.add(arith.AddfOp(odd, none), outside)
        assert odd is not None
        for axis in sorted(shared, key=order_of, reverse=True):
            odd = build.add(tile.SumOp(odd, axis), outside)
        sound = build.add(arith.CmpfOp(odd, build.constant(0.0, odd.type), "oeq"), outside)
        otherwise = Block()
        folds = [op for op in self.reductions if not isinstance(op, attn.ScatterOp)]  # what was added stays added
        again = replace(self, at=self.at.aside(otherwise), reductions=folds)
        exact = again.loop(span, _in_turn({op: plans[op] for op in folds}), sequential=True, exact=True)
        build.place(scf.YieldOp(*exact), otherwise)
        kept = Block()
        build.place(scf.YieldOp(*folded), kept)
        choice = scf.IfOp(sound, [state.type for state in folded], Region(kept), Region(otherwise))
        build.place(choice, outside)
        return list(choice.results)

    # --- from where to where

    def range(self) -> tuple[SSAValue, SSAValue, SSAValue | None, SSAValue | None]:
        """Where the loop starts and stops, and the same of each row, where rows differ and it has to be tested."""
        build, outside = self.build, self.outside
        low = self.lowering.get(self.over.start, self.at) if self.over.start is not None else build.number(0)
        high = self.lowering.get(self.over.extent, self.at)
        row_start, row_stop = (end if build.axes(end) else None for end in (low, high))
        for axis in build.axes(low):
            low = build.add(tile.MinOp(low, axis), outside, "start")
        for axis in build.axes(high):
            high = build.add(tile.MaxOp(high, axis), outside, "stop")
        return low, high, row_start, row_stop

    def split(self, low: SSAValue, high: SSAValue, keys: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Where the program's split of the keys starts and stops: each starts at a multiple of a tile."""
        if self.over.split is None or self.over.splits is None:
            return low, high
        split, splits = (self.lowering.get(value, self.at) for value in (self.over.split, self.over.splits))
        add = self.before
        length = add(arith.MaxSIOp(add(arith.SubiOp(high, low)), self.build.number(0)), "length")
        first, last = (self.equal if self.fixed else self.shared_out)(length, keys, split, splits)
        return add(arith.AddiOp(low, first), "start"), add(arith.AddiOp(low, last), "stop")

    def equal(self, length: SSAValue, keys: SSAValue, split: SSAValue, splits: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The same from the first key on, where all splits run at once, as on a GPU, and the longest one counts.

        All have equally many tiles, the last ones fewer.
        """
        build, add = self.build, self.before
        tiles = add(arith.MuliOp(splits, keys))
        rounding = add(arith.SubiOp(add(arith.AddiOp(length, tiles)), build.number(1)))
        share = add(arith.MuliOp(add(arith.FloorDivSIOp(rounding, tiles)), keys), "share")
        above = add(arith.SubiOp(add(arith.AddiOp(length, keys)), build.number(1)))
        covering = add(arith.MuliOp(add(arith.FloorDivSIOp(above, keys)), keys), "covering")
        first = add(arith.MinSIOp(covering, add(arith.MuliOp(split, share))), "first")
        return first, add(arith.MinSIOp(length, add(arith.AddiOp(first, share))), "last")

    def shared_out(
        self, length: SSAValue, keys: SSAValue, split: SSAValue, splits: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """The same where a few threads take one after another: none has two tiles more, and the first ones have most.

        There are as many tiles as come nearest to all keys. What is left of these, as one key of decoding beyond a
        multiple of a tile, is the last split's.
        """
        build, add = self.build, self.before
        half = add(arith.FloorDivSIOp(keys, build.number(2)))
        whole = add(arith.FloorDivSIOp(add(arith.AddiOp(length, half)), keys), "whole")
        each = add(arith.FloorDivSIOp(whole, splits), "each")
        more = add(arith.SubiOp(whole, add(arith.MuliOp(each, splits))), "more")
        following = add(arith.AddiOp(split, build.number(1)))

        def begin(number: SSAValue) -> SSAValue:
            before = add(arith.AddiOp(add(arith.MuliOp(number, each)), add(arith.MinSIOp(number, more))))
            return add(arith.MuliOp(before, keys))

        first, end = begin(split), add(arith.MinSIOp(length, begin(following)))
        first.name_hint = "first"
        is_last = add(arith.CmpiOp(following, splits, "eq"))
        return first, add(arith.SelectOp(is_last, length, end), "last")

    def before(self, op: Operation, name: str | None = None) -> SSAValue:
        """What an operation before the loop gives."""
        return self.build.add(op, self.outside, name)

    # --- how sums are computed

    def plans(self, op: Folded) -> list[ContractionPlan]:
        """How the sums of a reduction are computed, in the order of its results."""
        axes, over = partial(self.lowering.tile_axes, at=self.at), self.over.result
        match op:
            case attn.StreamOp():
                weight = self.condition_axes(op) | axes(op.score) | {over}
                return [contraction(value, over, axes, weight) for value in op.values]
            case attn.TotalOp():
                plan = contraction(op.body, over, axes, self.condition_axes(op) | {over})
                return [replace(plan, precise=op.precise is not None)]
            case attn.ScatterOp():
                factors, rows = factors_of(op.value), self.lowering.rows
                return [product(factors, rows[0].result, axes) if rows else ContractionPlan("loop", tuple(factors), ())]
            case _:
                return []

    def condition_axes(self, op: Folded) -> Axes:
        """The axes of the conditions under which a key counts."""
        conditions = [*conjuncts(op.where), *(end for end in (self.over.start, self.over.extent) if end is not None)]
        return frozenset[SSAValue]().union(*(self.lowering.tile_axes(condition, self.at) for condition in conditions))


def outer_of(variable: SSAValue) -> attn.OuterOp:
    """The operation that gives the outer variable of keys."""
    assert isinstance(variable.owner, attn.OuterOp), "the verifier holds that"
    return variable.owner


TAME = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.SelectOp, arith.ConstantOp),
    *(attn.ReadOp, attn.SumOp, spec.ParameterOp, spec.ToFloatOp),
    *(math.TanhOp, math.ErfOp, math.SinOp, math.CosOp),
)
"""What makes numbers that are finite, as good as always, of those that are."""


def _is_tame(value: SSAValue) -> bool:
    """Whether a value is sums and products of what is read, and of what is bounded."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        if (top := waiting.pop()) in seen or not isinstance(top.type, AnyFloat):
            continue
        seen.add(top)
        if not isinstance(top.owner, TAME):
            return False
        waiting += top.owner.operands
    return True


def _in_turn(plans: Plans) -> Plans:
    """The same sums, one key at a time: where one of them has to be, all of them are."""
    return {op: [plan.in_turn() for plan in found] for op, found in plans.items()}
