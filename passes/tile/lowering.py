"""Lowering on demand, of single operations: into the innermost open scope whose variable they depend on.

A scope is the program's, that of the loop over keys, or that of the loop of a contraction that no tile can hold.
Operations are lowered in the order of the source block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from attndsl.ir import attn, spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.hints import hint
from attndsl.ir.keys import Folded
from attndsl.ir.told import Told
from attndsl.ir.traits import Axes, monoid_of
from attndsl.ir.xdsl import AnyFloat, Attribute, Block, Operation, Region, SSAValue, arith, i1
from attndsl.passes.tile.builder import order_of
from attndsl.passes.tile.contraction import ContractionPlan, contraction
from attndsl.passes.tile.where import BlockScope, Where


class Lowering:
    """What is known of a kernel of the source, and how its operations are lowered; where to, each method is told.

    Tiles of keys may be of a `fixed` size, as a GPU's are.
    """

    def __init__(self, source: attn.KernelOp, fixed: bool) -> None:
        self.source = source
        self.fixed = fixed
        self.ops = list(source.body.block.ops)
        self.axes = AxesAnalysis()
        self.rows = [op for op in self.ops if isinstance(op, attn.RowOp)]
        self.columns = [op for op in self.ops if isinstance(op, attn.ColumnOp)]
        self.guarded: frozenset[SSAValue] = frozenset()
        """Factors that a loop which is not exact masks by themselves (`KeyLoop.guarded`)."""
        self._order: dict[SSAValue, int] = {op.results[0]: n for n, op in enumerate(self.ops) if op.results}

    # --- axes

    def tile_axes(self, value: SSAValue, at: Where) -> Axes:
        """What a source value varies along in a tile, each axis by its source variable; the first row's for rows."""
        varying: set[SSAValue] = set()
        for variable in self.axes(value):
            if isinstance(variable.owner, attn.RowOp):
                varying.add(self.rows[0].result)
            elif not isinstance(variable.owner, attn.GridOp | attn.OuterOp) and not self.runs(variable, at):
                varying.add(variable)
        return frozenset(varying)

    def runs(self, variable: SSAValue, at: Where) -> bool:
        """Whether a variable has one value at a time here."""
        scope = next((s for s in at.scopes if s.variable is variable), None)
        lowered = scope.values.get(variable) if scope is not None else None
        return lowered is not None and not isinstance(lowered.owner, tile.RangeOp)

    def target_axes(self, axes: Axes, at: Where) -> list[SSAValue]:
        """Axes of the target for axes of the source: rows first, then in the order of their variables."""
        ordered = sorted(axes, key=lambda axis: (not isinstance(axis.owner, attn.RowOp), self._order[axis]))
        return [self.target_axis(axis, at) for axis in ordered]

    def target_axis(self, axis: SSAValue, at: Where) -> SSAValue:
        """The axis of the target that stands for an axis of the source."""
        if isinstance(axis.owner, attn.RowOp):
            assert at.rows is not None
            return at.rows
        self.need([axis], at)
        return self.get(axis, at)

    # --- lowering on demand

    def home(self, value: SSAValue, at: Where) -> BlockScope:
        """The scope that a source value belongs to."""
        variables = self.axes(value)
        return next((s for s in reversed(at.scopes) if s.variable in variables), at.outermost)

    def get(self, value: SSAValue, at: Where) -> SSAValue:
        """What a source value has become."""
        return self.home(value, at).values[value]

    def need(self, values: Iterable[SSAValue], at: Where) -> None:
        """Lowers what `values` rest on, as far as that has not been done."""
        wanted: set[Operation] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            op = value.owner
            assert isinstance(op, Operation)
            if value not in self.home(value, at).values and op not in wanted:
                wanted.add(op)
                stack.extend(self.demands(op, at))
        for op in sorted(wanted, key=lambda op: self._order[op.results[0]]):
            values = self.home(op.results[0], at).values
            if op.results[0] not in values:  # a loop that was lowered meanwhile may have brought some of it
                values[op.results[0]] = self.lower(op, at.of(op))

    def demands(self, op: Operation, at: Where) -> Sequence[SSAValue]:
        """The values that lowering an operation takes."""
        # A loop asks for its own while it is open.
        if isinstance(op, attn.SumOp):
            plan = self.contraction(op, at)
            return plan.values if plan.form != "loop" else ()
        if isinstance(op, attn.ReduceAxisOp):
            return (op.body,) if not self.in_turn(op, at) else ()
        return op.operands

    def lower(self, op: Operation, at: Where) -> SSAValue:
        """One source operation; its operands have been lowered."""
        scope, name = self.home(op.results[0], at), op.results[0].name_hint
        lowered: Operation
        match op:
            case attn.GridOp():
                bound = self.get(op.bound, at) if op.bound is not None else None
                lowered = tile.ProgramOp(op.variable.data, self.get(op.extent, at), bound, at.build.number(1))
            case attn.AxisOp():
                extent = self.get(op.extent, at)
                lowered = tile.RangeOp(op.variable.data, at.build.number(0), extent, extent)
                scope = at.outermost
            case attn.ReadOp():
                conditions = [self.get(op.where, at)] if op.where is not None else []
                where = at.build.conjunction([*conditions, *self._own_keys(op, at)], scope.block)
                indices = [self.get(v, at) for v in op.indices]
                lowered = tile.LoadOp(op.tensor, indices, where, op.result.type, at.apart)
            case attn.SumOp():
                return self.sum(op, at)
            case attn.ReduceAxisOp() if self.in_turn(op, at):
                return self.loop(op, at)
            case attn.ReduceAxisOp():
                axis = self.target_axis(op.over, at)
                body = at.build.along(self.get(op.body, at), axis, scope.block)
                lowered = tile.reduction(monoid_of(op))(body, axis)
            case attn.TopOp():
                axis, place = (self.target_axis(variable, at) for variable in (op.over, op.at))
                score, present = (at.build.along(self.get(v, at), axis, scope.block) for v in (op.score, op.present))
                lowered = tile.TopOp(score, present, axis, place)
            case _:
                lowered = op.clone({operand: self.get(operand, at) for operand in op.operands})
        return at.build.add(lowered, scope.block, name)

    def _own_keys(self, op: attn.ReadOp, at: Where) -> Sequence[SSAValue]:
        """The conditions that a key is one of the row's own, where a read needs them.

        A tile of rows meets every key that one of the rows has. What was proved of an index of row and key together
        holds for the keys of that row.
        """
        met = [{type(variable.owner) for variable in self.axes(place)} for place in op.indices]
        if any(attn.OverOp in variables and {attn.RowOp, attn.ColumnOp} & variables for variables in met):
            return at.own
        return at.before_end if any(attn.OverOp in variables for variables in met) else ()

    # --- reductions over feature variables

    def in_turn(self, op: attn.ReduceAxisOp, at: Where) -> bool:
        """Whether no tile holds what is reduced, which is no product: then one value of the variable goes at a time."""
        return len(self.tile_axes(op.body, at) - {op.over}) > 1

    def loop(self, op: attn.ReduceAxisOp, at: Where) -> SSAValue:
        """A reduction for one value of its variable at a time."""
        home, axis, monoid = self.home(op.result, at), op.over.owner, monoid_of(op)
        assert isinstance(axis, attn.AxisOp)
        self.need([axis.extent, *_reduced_over(op.over, op.body)], at)  # in the loop their variable is no axis
        axes = self.target_axes(self.tile_axes(op.result, at), at)
        empty = at.build.constant(monoid.identity(op.result.type), op.result.type)
        start = at.build.add(tile.BroadcastOp(empty, axes), home.block)
        block = at.build.loop_block([start])
        block.args[0].name_hint = hint(axis.variable.data)
        values: dict[SSAValue, SSAValue] = {op.over: block.args[0]}
        for value in self.folded_along(op.over, op.body):  # before: what keys fold to is a tile
            values[value] = self.element(self.get(value, at), self.target_axis(op.over, at), block, at)
        within = at.within(BlockScope(block, op.over, values))
        self.need([op.body], within)
        total = at.build.add(monoid.combine(block.args[1], self.get(op.body, within)), block)
        at.build.place(tile.YieldOp(total), block)
        one, first = at.build.number(1), at.build.number(0)
        loop = tile.LoopOp(first, self.get(axis.extent, at), one, [start], Region(block))
        return at.build.add(loop, home.block, op.result.name_hint)

    def folded_along(self, variable: SSAValue, value: SSAValue) -> list[SSAValue]:
        """What is folded over keys for each value of a variable, and a value rests on."""
        return [v for v in _ends(value, lambda v: isinstance(v.owner, Folded)) if variable in self.axes(v)]

    def element(self, value: SSAValue, axis: SSAValue, block: Block, at: Where) -> SSAValue:
        """The element of a tile at the value of an axis that a loop has come to, its block's first argument."""
        build = at.build
        here = build.add(arith.CmpiOp(axis, block.args[0], "eq"), block)
        return build.add(tile.SumOp(build.select([here], value, block), axis), block, value.name_hint)

    def contraction(self, op: attn.SumOp, at: Where) -> ContractionPlan:
        """How a contraction is computed with the axes that are open here."""
        return contraction(op.body, op.over, partial(self.tile_axes, at=at))

    def sum(self, op: attn.SumOp, at: Where) -> SSAValue:
        """The sum over a feature variable, of a product."""
        plan = self.contraction(op, at)
        if plan.form == "loop":
            return self.loop(op, at)
        target, block = self.target_axis(op.over, at), self.home(op.result, at).block
        inside = replace(plan, outside=(), divisors=(), negative=False)
        result = self.contract(inside, target, None, (), at, block)
        if plan.outside or plan.divisors:
            # A sum of no terms is 0, and what it was multiplied with term by term no longer counts.
            axis = op.over.owner
            assert isinstance(axis, attn.AxisOp)
            extent, zero = self.get(axis.extent, at), at.build.number(0)
            terms = at.build.add(arith.CmpiOp(extent, zero, "sgt"), at.outermost.block)
            result = self.finish(plan, result, at, block, [terms])
        else:
            result = self.finish(plan, result, at, block)
        result.name_hint = op.result.name_hint
        return result

    def contract(
        self,
        plan: ContractionPlan,
        axis: SSAValue,
        weight: SSAValue | None,
        where: Sequence[SSAValue],
        at: Where,
        block: Block,
        exact: bool = True,
    ) -> SSAValue:
        """A sum over an axis of the target: of the plan's product, times `weight`, where all of `where` hold.

        Unless it is to be `exact`, a matrix product is right only where it is finite.
        """
        build = at.build
        guarded = next((factor for factor in plan.left if factor in self.guarded), None)
        if guarded is not None and weight is None and not exact:  # what it is multiplied with is taken to be finite
            beside = list(plan.left)
            beside.remove(guarded)  # once: it may be a factor twice
            left = self.product(build.select(where, self.get(guarded, at), block), beside, at, block)
        else:
            guarded, left = None, self.product(weight, plan.left, at, block)
        if plan.form == "dot":
            right = self.product(None, plan.right, at, block)
            # A GPU selects as it reads: conditions on keys alone are put into the values, others left to the product.
            alone = [c for c in where if self.fixed and build.axes(c) <= {axis}]
            others = build.conjunction((c for c in where if c not in alone), block) if exact else None
            right = build.along(build.select(alone, right, block), axis, block)
            if guarded is None and weight is None:  # before it is multiplied: what a row does not see may be no number
                left = build.select(where, left, block)
            elif guarded is None and plan.left:
                left = build.select(alone, left, block)
            dot = tile.DotOp(build.along(left, axis, block), right, axis, others, plan.precise)
            result = build.add(dot, block)
        else:
            terms = build.along(build.select(where, left, block), axis, block)
            result = build.add(tile.SumOp(terms, axis), block)
        finished, seen = self.finish(plan, result, at, block), build.conjunction(where, block)
        if finished is result or seen is None:
            return finished
        # A row that sees none of these keys has 0 here, whatever its sum would be multiplied with.
        hidden = build.add(arith.XOrIOp(seen, build.constant(True, i1)), block)
        nothing = build.add(tile.AllOp(build.along(hidden, axis, block), axis), block)
        zero = build.constant(0.0, finished.type)
        return build.add(arith.SelectOp(nothing, zero, finished), block)

    def product(self, weight: SSAValue | None, factors: Iterable[SSAValue], at: Where, block: Block) -> SSAValue:
        """The product of source values as they have become, and of `weight`; 1 where there are none."""
        lowered = [self.get(factor, at) for factor in factors]
        product = at.build.product([weight, *lowered] if weight is not None else lowered, block)
        return product if product is not None else at.build.constant(1.0, self.real_type)

    def programs(self, op: attn.WriteOp | attn.ScatterOp, at: Where) -> list[SSAValue]:
        """The variables of the programs of which elements may meet.

        Rows that agree in what a write adds along have elements of their own. Programs have a tile of such a variable,
        and do not agree in it: what that and an element tell of others, as `i` and `j - i` do of `j`, none knows.
        """
        tiled, told = attn.RowOp | attn.ColumnOp, Told(op.indices, self.source.body.block)
        told.learn(variable for variable in op.along if not isinstance(variable.owner, tiled))
        by_programs = told.known
        told.learn(op.along)
        by_rows = [each.results[0] for each in self.ops if each.results and each.results[0] in told.known - by_programs]
        meeting = [
            *op.along,
            *(each for each in by_rows if isinstance(each.owner, tiled | attn.GridOp) and each not in op.along),
        ]
        found: dict[SSAValue, None] = {}
        for variable in (variable for v in meeting for variable in sorted(self.axes(v), key=order_of)):
            if isinstance(variable.owner, tiled):
                axis = self.target_axis(variable, at).owner
                assert isinstance(axis, tile.RangeOp)
                found[axis.start] = None
            else:
                found[self.get(variable, at)] = None
        return list(found)

    def finish(
        self, plan: ContractionPlan, result: SSAValue, at: Where, block: Block, where: Sequence[SSAValue] = ()
    ) -> SSAValue:
        """A contraction's sum, multiplied with and divided by what stands outside it, where all of `where` hold."""
        build = at.build
        for factor in plan.outside:
            result = build.add(arith.MulfOp(result, build.select(where, self.get(factor, at), block, 1.0)), block)
        for divisor in plan.divisors:
            result = build.add(arith.DivfOp(result, build.select(where, self.get(divisor, at), block, 1.0)), block)
        return build.add(arith.NegfOp(result), block) if plan.negative else result

    @property
    def real_type(self) -> Attribute:
        """The type that the kernel computes in: that of its floats, but of parameters."""
        results = (result for op in self.ops if not isinstance(op, spec.ParamOp) for result in op.results)
        return next(result.type for result in results if isinstance(result.type, AnyFloat))


def _reduced_over(variable: SSAValue, value: SSAValue) -> list[SSAValue]:
    """The reductions over a variable that a value rests on."""
    return _ends(value, lambda v: isinstance(v.owner, attn.ReduceAxisOp) and v.owner.over is variable)


def _ends(value: SSAValue, is_end: Callable[[SSAValue], bool]) -> list[SSAValue]:
    """The ends among what a value rests on, itself too; below them none is looked for."""
    found: list[SSAValue] = []
    seen, stack = {value}, [value]
    while stack:
        v = stack.pop()
        if is_end(v):
            found.append(v)
        elif isinstance(v.owner, Operation):
            new = [operand for operand in v.owner.operands if operand not in seen]
            seen.update(new)
            stack += new
    return found
