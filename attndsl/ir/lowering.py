"""The lowering of one `attn` kernel to a `tile` kernel; `passes/tile.py` says what it does and shows it.

Operations are lowered on demand, in the order of the source block, into the innermost open *scope* whose variable
they depend on: the program, the loop over keys, or the loop of a contraction that no tile can hold.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from attndsl.ir import attn, spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.contraction import Contraction, Lanes, contraction
from attndsl.ir.keys import Reduction, conjuncts, over_of, reductions_of
from attndsl.ir.rewrite import constant_op
from attndsl.ir.xdsl import (
    Attribute,
    Block,
    LocationAttr,
    Operation,
    Region,
    SSAValue,
    UnknownLoc,
    arith,
    index,
    math,
    scf,
)


@dataclass
class Scope:
    """A block being filled, the variable that it runs over, and what source values have become in it."""

    block: Block
    variable: SSAValue | None
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)


class Lowering:
    """One use lowers one kernel: `Lowering(source, rows, keys).kernel()`."""

    def __init__(self, source: attn.KernelOp, rows: int, keys: int) -> None:
        self.source = source
        self.sizes = {"rows": rows, "keys": keys}
        self.ops = list(source.body.block.ops)
        self.axes = AxesAnalysis()
        self.target_axes = AxesAnalysis()
        self.target = tile.KernelOp(source.entry.data)
        self.target.location = source.location
        self.scopes = [Scope(self.target.body.block, None)]
        self.location: LocationAttr = UnknownLoc()
        self.over = over_of(source)
        self.row_variables = frozenset(op.result for op in self.ops if isinstance(op, attn.RowOp))
        self.row_lane: SSAValue | None = None
        self.constants: dict[tuple[Attribute, float], SSAValue] = {}

    def kernel(self) -> tile.KernelOp:
        """The lowered kernel."""
        for op in self.ops:
            if isinstance(op, attn.GridOp):
                self.need([op.result])
        self.rows()
        for level in self.levels():
            self.key_loop(level)
        for op in self.ops:
            if isinstance(op, attn.WriteOp):
                self.need(op.operands)
                self.location = op.location
                where = self.get(op.where) if op.where is not None else None
                indices = [self.get(v) for v in op.indices]
                self.scopes[0].block.add_op(self.placed(tile.StoreOp(op.tensor, indices, self.get(op.value), where)))
        return self.target

    # --- lanes

    def lanes(self, value: SSAValue) -> Lanes:
        """What a source value varies along in a tile, each lane by its source variable; the first row's for rows."""
        varying: set[SSAValue] = set()
        for variable in self.axes(value):
            if variable in self.row_variables:
                varying.add(next(iter(self.row_order)).result)
            elif not isinstance(variable.owner, attn.GridOp) and not self.runs(variable):
                varying.add(variable)
        return frozenset(varying)

    def runs(self, variable: SSAValue) -> bool:
        """Whether a variable has one value at a time here."""
        return any(scope.variable is variable and not self.is_lane(scope, variable) for scope in self.scopes)

    @staticmethod
    def is_lane(scope: Scope, variable: SSAValue) -> bool:
        lowered = scope.values.get(variable)
        return lowered is not None and isinstance(lowered.owner, tile.LaneOp)

    @property
    def row_order(self) -> list[attn.RowOp]:
        return [op for op in self.ops if isinstance(op, attn.RowOp)]

    def lane_value(self, lane: SSAValue) -> SSAValue:
        """The lane of the target that stands for a lane of the source."""
        if lane in self.row_variables:
            assert self.row_lane is not None
            return self.row_lane
        self.need([lane])
        return self.get(lane)

    def rows(self) -> None:
        """One lane numbers all rows of a tile; the row variables are its digits, the first varying slowest."""
        rows = self.row_order
        if not rows:
            return
        self.need([row.extent for row in rows] + [row.bound for row in rows if row.bound is not None])
        self.location = rows[0].location
        extents = [self.get(row.extent) for row in rows]
        total = self.product(extents)
        bound = None
        if any(row.bound is not None for row in rows):
            bound = self.product([self.get(row.bound or row.extent) for row in rows])
        size = self.number(self.sizes["rows"])
        name = "_".join(row.variable.data for row in rows)
        start = self.add(tile.ProgramOp(name, total, bound, size), f"{name}0")
        self.row_lane = lane = self.add(tile.LaneOp(name, start, total, size), name)
        values = self.scopes[0].values
        for position in range(len(rows) - 1, 0, -1):
            values[rows[position].result] = self.add(spec.ModOp(lane, extents[position]), rows[position].variable.data)
            lane = self.add(arith.FloorDivSIOp(lane, extents[position]))
        values[rows[0].result] = lane
        lane.name_hint = rows[0].variable.data

    def product(self, factors: Sequence[SSAValue]) -> SSAValue:
        result = factors[0]
        for factor in factors[1:]:
            result = self.add(arith.MuliOp(result, factor))
        return result

    # --- lowering on demand

    def home(self, value: SSAValue) -> Scope:
        """The scope that a source value belongs to."""
        variables = self.axes(value)
        return next((s for s in reversed(self.scopes) if s.variable in variables), self.scopes[0])

    def get(self, value: SSAValue) -> SSAValue:
        """What a source value has become."""
        return self.home(value).values[value]

    def need(self, values: Iterable[SSAValue]) -> None:
        """Lowers what `values` rest on, as far as that has not been done."""
        wanted: set[Operation] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            op = value.owner
            assert isinstance(op, Operation)
            if value not in self.home(value).values and op not in wanted:
                wanted.add(op)
                stack.extend(self.demands(op))
        for op in self.ops:
            if op in wanted:
                self.location = op.location
                self.home(op.results[0]).values[op.results[0]] = self.lower(op)

    def demands(self, op: Operation) -> Sequence[SSAValue]:
        """The values that lowering an operation takes."""
        if isinstance(op, attn.SumOp):
            plan = self.contraction(op)
            if plan.form != "loop":
                return plan.values
            # The rest is lowered inside the loop; what does not change there must stand before it.
            return [v for v in self.closure(op.body) if op.over not in self.axes(v)]
        return op.operands

    def closure(self, root: SSAValue) -> list[SSAValue]:
        """The values nearest to `root`, itself included, that do not depend on what is open or summed over."""
        seen: dict[SSAValue, None] = {}
        stack = [root]
        while stack:
            value = stack.pop()
            if value not in seen:
                seen[value] = None
                owner = value.owner
                assert isinstance(owner, Operation)
                if any(isinstance(v.owner, attn.AxisOp) for v in self.axes(value)):
                    stack.extend(owner.operands)
        return list(seen)

    def contraction(self, op: attn.SumOp) -> Contraction:
        return contraction(op.body, op.over, self.lanes)

    def lower(self, op: Operation) -> SSAValue:
        """One source operation; its operands have been lowered."""
        hint = op.results[0].name_hint
        match op:
            case attn.GridOp():
                bound = self.get(op.bound) if op.bound is not None else None
                return self.add(tile.ProgramOp(op.variable.data, self.get(op.extent), bound, self.number(1)), hint)
            case attn.AxisOp():
                extent = self.get(op.extent)
                return self.add(tile.LaneOp(op.variable.data, self.number(0), extent, extent), hint)
            case attn.ReadOp():
                where = self.get(op.where) if op.where is not None else None
                indices = [self.get(v) for v in op.indices]
                return self.add(tile.LoadOp(op.tensor, indices, where, op.result.type), hint, self.home(op.result))
            case attn.AllOp():
                scope = self.home(op.result)
                lane = self.lane_value(op.over)
                return self.add(tile.AllOp(self.along(self.get(op.body), lane, scope), lane), hint, scope)
            case attn.SumOp():
                return self.sum(op)
        clone = op.clone({operand: self.get(operand) for operand in op.operands})
        return self.add(clone, hint, self.home(op.results[0]))

    def sum(self, op: attn.SumOp) -> SSAValue:
        plan = self.contraction(op)
        if plan.form == "loop":
            return self.sum_loop(op)
        scope = self.home(op.result)
        return self.contract(plan, self.lane_value(op.over), None, [], scope)

    def sum_loop(self, op: attn.SumOp) -> SSAValue:
        """A contraction that no tile holds: one value of its variable at a time."""
        home = self.home(op.result)
        axis = op.over.owner
        assert isinstance(axis, attn.AxisOp)
        self.need([axis.extent])
        lanes = [self.lane_value(lane) for lane in self.ordered(self.lanes(op.result))]
        start = self.add(tile.SpreadOp(self.real(0.0, op.result.type), lanes), None, home)
        block = self.loop_block([start])
        block.args[0].name_hint = axis.variable.data
        self.scopes.append(Scope(block, op.over, {op.over: block.args[0]}))
        self.need([op.body])
        self.location = op.location
        total = self.add(arith.AddfOp(block.args[1], self.get(op.body)), None, self.scopes[-1])
        block.add_op(self.placed(scf.YieldOp(total)))
        self.scopes.pop()
        loop = scf.ForOp(self.number(0), self.get(axis.extent), self.number(1), [start], Region(block))
        return self.add(loop, op.result.name_hint, home)

    def contract(
        self, plan: Contraction, lane: SSAValue, weight: SSAValue | None, where: list[SSAValue], scope: Scope
    ) -> SSAValue:
        """A sum over a lane of the target: of the plan's product, times `weight`, where all of `where` hold."""
        left = self.multiply([weight] if weight is not None else [], plan.left, scope)
        if plan.form == "dot":
            right = self.multiply([], plan.right, scope)
            assert left is not None and right is not None
            # A condition on keys alone is put into the values; one that tells rows apart is left to the product.
            alone = [c for c in where if self.target_axes(c) <= {lane}]
            others = [c for c in where if c not in alone]
            right = self.select(alone, right, scope)
            left, right = self.along(left, lane, scope), self.along(right, lane, scope)
            result = self.add(tile.DotOp(left, right, lane, self.conjunction(others, scope)), None, scope)
        else:
            one = self.real(1.0, self.scalar_type)
            product = self.select(where, left if left is not None else one, scope)
            result = self.add(tile.SumOp(self.along(product, lane, scope), lane), None, scope)
        return self.finish(plan, result, scope)

    def finish(self, plan: Contraction, result: SSAValue, scope: Scope) -> SSAValue:
        """What a contraction's sum is multiplied with and divided by."""
        for factor in plan.outside:
            result = self.add(arith.MulfOp(result, self.get(factor)), None, scope)
        for divisor in plan.divisors:
            result = self.add(arith.DivfOp(result, self.get(divisor)), None, scope)
        return self.add(arith.NegfOp(result), None, scope) if plan.negative else result

    def multiply(self, first: list[SSAValue], factors: Iterable[SSAValue], scope: Scope) -> SSAValue | None:
        result: SSAValue | None = None
        for factor in (*first, *(self.get(f) for f in factors)):
            result = factor if result is None else self.add(arith.MulfOp(result, factor), None, scope)
        return result

    # --- the loop over keys

    def levels(self) -> list[list[Reduction]]:
        """The reductions, each after those that its operands rest on."""
        level: dict[Operation, int] = {}
        depth: dict[SSAValue, int] = {}
        for op in self.ops:
            below = max((depth.get(v, 0) for v in op.operands), default=0)
            if isinstance(op, Reduction):
                level[op] = below
                below += 1
            depth.update(dict.fromkeys(op.results, below))
        return [[op for op in reductions_of(self.source) if level[op] == n] for n in sorted(set(level.values()))]

    def key_loop(self, reductions: list[Reduction]) -> None:
        assert self.over is not None
        self.need(self.over.operands)
        self.location = self.over.location
        low, high, ends = self.range()
        plans = {op: self.plans(op) for op in reductions}
        sequential = any(plan.form == "loop" for found in plans.values() for plan in found)
        step = self.number(1 if sequential else self.sizes["keys"])
        starts = [state for op in reductions for state in self.start(op)]
        block = self.loop_block(starts)
        name = self.over.variable.data
        block.args[0].name_hint = name if sequential else f"{name}0"
        scope = Scope(block, self.over.result, {self.over.result: block.args[0]})
        self.scopes.append(scope)
        lane: SSAValue | None = None
        if not sequential:
            lane = self.add(tile.LaneOp(name, block.args[0], high, step), name, scope)
            scope.values[self.over.result] = lane
        inside = self.inside(ends, scope)
        carried = list(block.args[1:])
        ended: list[SSAValue] = []
        for op in reductions:
            self.need([*self.wanted(op, plans[op])])
            self.location = op.location
            where = [self.get(c) for c in conjuncts(op.where)] + inside
            count = len(op.results)
            ended += self.fold(op, plans[op], carried[:count], where, lane, scope)
            carried = carried[count:]
        block.add_op(self.placed(scf.YieldOp(*ended)))
        self.scopes.pop()
        self.location = self.over.location
        loop = scf.ForOp(low, high, step, starts, Region(block))
        self.scopes[0].block.add_op(self.placed(loop))
        results = iter(loop.results)
        for op in reductions:
            for old, new in zip(op.results, results, strict=False):
                new.name_hint = old.name_hint
                self.scopes[0].values[old] = new

    def range(self) -> tuple[SSAValue, SSAValue, list[tuple[type[Operation], str, SSAValue]]]:
        """Where the loop starts and stops, and the ends that differ from row to row, which it must test."""
        assert self.over is not None
        low = self.get(self.over.start) if self.over.start is not None else self.number(0)
        high = self.get(self.over.extent)
        ends: list[tuple[type[Operation], str, SSAValue]] = []
        for end, predicate in ((low, "sle"), (high, "sgt")):
            for _ in self.target_axes(end):
                ends.append((arith.CmpiOp, predicate, end))
        for lane in self.target_axes(low):
            low = self.add(tile.MinOp(low, lane), "start")
        for lane in self.target_axes(high):
            high = self.add(tile.MaxOp(high, lane), "stop")
        return low, high, ends

    def inside(self, ends: list[tuple[type[Operation], str, SSAValue]], scope: Scope) -> list[SSAValue]:
        assert self.over is not None
        key = scope.values[self.over.result]
        return [self.add(arith.CmpiOp(end, key, predicate), None, scope) for _, predicate, end in ends]

    def plans(self, op: Reduction) -> list[Contraction]:
        """How the sums of a reduction are computed, in the order of its results."""
        assert self.over is not None
        over = self.over.result
        match op:
            case attn.StreamOp():
                weight = self.lanes(op.score) | {over}
                for condition in conjuncts(op.where):
                    weight |= self.lanes(condition)
                for end in self.over.operands:
                    weight |= self.lanes(end)
                return [contraction(value, over, self.lanes, weight) for value in op.values]
            case attn.TotalOp():
                return [contraction(op.body, over, self.lanes)]
        return []

    @staticmethod
    def wanted(op: Reduction, plans: list[Contraction]) -> Iterable[SSAValue]:
        """What folding a tile of keys into a reduction takes."""
        yield from conjuncts(op.where)
        if isinstance(op, (attn.StreamOp,)):
            yield op.score
        if isinstance(op, attn.MaxOp):
            yield op.body
        for plan in plans:
            yield from plan.values

    def start(self, op: Reduction) -> list[SSAValue]:
        """The state of a reduction before the first key."""
        lowest = (
            {op.maximum} if isinstance(op, attn.StreamOp) else set(op.results if isinstance(op, attn.MaxOp) else [])
        )
        states = []
        for result in op.results:
            lanes = [self.lane_value(lane) for lane in self.ordered(self.lanes(result))]
            value = self.real(-numbers.inf if result in lowest else 0.0, result.type)
            states.append(self.add(tile.SpreadOp(value, lanes), result.name_hint))
        return states

    def fold(
        self,
        op: Reduction,
        plans: list[Contraction],
        state: Sequence[SSAValue],
        where: list[SSAValue],
        lane: SSAValue | None,
        scope: Scope,
    ) -> list[SSAValue]:
        """The state of a reduction after one more tile of keys."""
        match op:
            case attn.StreamOp():
                return self.fold_stream(op, plans, state, where, lane, scope)
            case attn.TotalOp():
                part = self.keys_sum(plans[0], None, where, lane, scope)
                return [self.add(arith.AddfOp(state[0], part), op.result.name_hint, scope)]
            case attn.MaxOp():
                lowest = self.real(-numbers.inf, op.result.type)
                body = self.select(where, self.get(op.body), scope, lowest)
                return [self.add(arith.MaximumfOp(state[0], self.largest(body, lane, scope)), None, scope)]
        raise AssertionError(f"{op.name} is not streamed")

    def fold_stream(
        self,
        op: attn.StreamOp,
        plans: list[Contraction],
        state: Sequence[SSAValue],
        where: list[SSAValue],
        lane: SSAValue | None,
        scope: Scope,
    ) -> list[SSAValue]:
        maximum, total, *sums = state
        lowest = self.real(-numbers.inf, op.maximum.type)
        score = self.select(where, self.get(op.score), scope, lowest)
        score = self.along(score, lane, scope) if lane is not None else score
        larger = self.add(arith.MaximumfOp(maximum, self.largest(score, lane, scope)), "m_new", scope)
        # While nothing is present the maximum is -inf: a finite shift keeps 2^(-inf - shift) at 0.
        nothing = self.add(arith.CmpfOp(larger, lowest, "oeq"), None, scope)
        shift = self.add(arith.SelectOp(nothing, self.real(0.0, op.maximum.type), larger), "shift", scope)
        weight = self.add(math.Exp2Op(self.add(arith.SubfOp(score, shift), None, scope)), "p", scope)
        scale = self.add(math.Exp2Op(self.add(arith.SubfOp(maximum, shift), None, scope)), "alpha", scope)
        added = self.add(tile.SumOp(weight, lane), None, scope) if lane is not None else weight
        result = [larger, self.add(arith.AddfOp(self.add(arith.MulfOp(total, scale), None, scope), added), "l", scope)]
        for old, plan, name in zip(sums, plans, op.sums, strict=True):
            part = self.keys_sum(plan, weight, where, lane, scope)
            scaled = self.add(arith.MulfOp(old, scale), None, scope)
            result.append(self.add(arith.AddfOp(scaled, part), name.name_hint, scope))
        return result

    def keys_sum(
        self,
        plan: Contraction,
        weight: SSAValue | None,
        where: list[SSAValue],
        lane: SSAValue | None,
        scope: Scope,
    ) -> SSAValue:
        """The sum over a tile of keys of weight times the plan's product."""
        if lane is not None:
            return self.contract(plan, lane, weight, where, scope)
        product = self.multiply([weight] if weight is not None else [], plan.left, scope)
        product = product if product is not None else self.real(1.0, self.scalar_type)
        return self.finish(plan, self.select(where, product, scope), scope)

    def largest(self, value: SSAValue, lane: SSAValue | None, scope: Scope) -> SSAValue:
        if lane is None:
            return value
        return self.add(tile.MaxOp(self.along(value, lane, scope), lane), None, scope)

    # --- operations

    def loop_block(self, starts: Sequence[SSAValue]) -> Block:
        """The body of a loop that carries what it starts from, empty."""
        block = Block(arg_types=[index, *(start.type for start in starts)])
        self.target_axes.know(block.args[0], frozenset())
        for argument, start in zip(block.args[1:], starts, strict=True):
            self.target_axes.know(argument, self.target_axes(start))
            argument.name_hint = start.name_hint
        return block

    @property
    def scalar_type(self) -> Attribute:
        return next(v.type for op in self.ops if isinstance(op, attn.WriteOp) for v in [op.value])

    def ordered(self, lanes: Lanes) -> list[SSAValue]:
        """Lanes in the order of their variables in the source: rows, then features."""
        order: dict[SSAValue, int] = {op.results[0]: n for n, op in enumerate(self.ops) if op.results}
        return sorted(lanes, key=lambda lane: (lane not in self.row_variables, order[lane]))

    def along(self, value: SSAValue, lane: SSAValue, scope: Scope) -> SSAValue:
        """The value, laid out along a lane where it does not vary along it."""
        return value if lane in self.target_axes(value) else self.add(tile.SpreadOp(value, [lane]), None, scope)

    def select(
        self, where: list[SSAValue], value: SSAValue, scope: Scope, otherwise: SSAValue | None = None
    ) -> SSAValue:
        """The value where all conditions hold, else 0 or what is given."""
        condition = self.conjunction(where, scope)
        if condition is None:
            return value
        if otherwise is None:
            otherwise = self.real(0.0, value.type)
        return self.add(arith.SelectOp(condition, value, otherwise), value.name_hint, scope)

    def conjunction(self, conditions: list[SSAValue], scope: Scope) -> SSAValue | None:
        result: SSAValue | None = None
        for condition in conditions:
            result = condition if result is None else self.add(arith.AndIOp(result, condition), None, scope)
        return result

    def number(self, value: int) -> SSAValue:
        return self.constant(value, index)

    def real(self, value: float, type_: Attribute) -> SSAValue:
        return self.constant(value, type_)

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        if (type_, value) not in self.constants:
            self.constants[type_, value] = self.add(constant_op(value, type_))
        return self.constants[type_, value]

    def add(self, op: Operation, hint: str | None = None, scope: Scope | None = None) -> SSAValue:
        (scope or self.scopes[0]).block.add_op(self.placed(op))
        op.results[0].name_hint = hint
        return op.results[0]

    def placed(self, op: Operation) -> Operation:
        op.location = self.location
        return op
