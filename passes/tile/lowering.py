"""The lowering of one `attn` kernel to a `tile` kernel; the package says what it does and shows it.

Operations are lowered on demand, in the order of the source block, into the innermost open *scope* whose variable
they depend on: the program, the loop over keys, or the loop of a contraction that no tile can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from attndsl.ir import attn, spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.hints import hint
from attndsl.ir.keys import levels, over_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.text import known_limit
from attndsl.ir.xdsl import Attribute, Block, Operation, Region, SSAValue, arith, i1, index, scf
from attndsl.passes.tile.builder import Scope, TileBuilder
from attndsl.passes.tile.contraction import Contraction, Lanes, contraction
from attndsl.passes.tile.key_loop import KeyLoop


class Lowering:
    """One use lowers one kernel, with tiles of so many rows and keys: `Lowering(source, rows, keys, whole).kernel()`.

    A size of 0 is left to the launch. Where tiles of keys are `whole`, they run over the last key's end, and what lies
    behind it is absent.
    """

    def __init__(self, source: attn.KernelOp, rows: int, keys: int, whole: bool) -> None:
        self.source = source
        self.rows_asked, self.keys_asked, self.whole = rows, keys, whole
        self.ops = list(source.body.block.ops)
        self.axes = AxesAnalysis()
        self.target = tile.KernelOp(source.entry.data, source.form)
        self.target.location = source.location
        self.build = TileBuilder(self.target.body.block)
        self.outermost = Scope(self.target.body.block, None)
        self.scopes = [self.outermost]
        self.row_variables = [op for op in self.ops if isinstance(op, attn.RowOp)]
        self.row_lane: SSAValue | None = None
        self.inside: list[SSAValue] = []  # in the loop over keys: where a key is one of the row's own
        self.before_end: list[SSAValue] = []  # there: where a key of a whole tile is before the last row's end

    def kernel(self) -> tile.KernelOp:
        """The lowered kernel."""
        self.need(op.result for op in self.ops if isinstance(op, attn.GridOp))
        self.rows()
        for reductions in levels(self.source):
            KeyLoop(self, reductions).lower()
        for op in self.ops:
            if isinstance(op, attn.WriteOp):
                self.need(op.operands)
                self.build.location = op.location
                where = self.get(op.where) if op.where is not None else None
                indices = [self.get(v) for v in op.indices]
                value = self.get(op.value)
                if self.whole:  # what is the same for several rows is stored for each
                    for lane in (lane for v in indices for lane in sorted(self.build.axes(v), key=self.order_of)):
                        value = self.build.along(value, lane, self.outermost.block)
                self.build.place(tile.StoreOp(op.tensor, indices, value, where), self.outermost.block)
        return self.target

    # --- lanes

    def lanes(self, value: SSAValue) -> Lanes:
        """What a source value varies along in a tile, each lane by its source variable; the first row's for rows."""
        varying: set[SSAValue] = set()
        for variable in self.axes(value):
            if isinstance(variable.owner, attn.RowOp):
                varying.add(self.row_variables[0].result)
            elif not isinstance(variable.owner, attn.GridOp) and not self.runs(variable):
                varying.add(variable)
        return frozenset(varying)

    def runs(self, variable: SSAValue) -> bool:
        """Whether a variable has one value at a time here."""
        scope = next((s for s in self.scopes if s.variable is variable), None)
        lowered = scope.values.get(variable) if scope is not None else None
        return lowered is not None and not isinstance(lowered.owner, tile.LaneOp)

    def target_lanes(self, lanes: Lanes) -> list[SSAValue]:
        """Lanes of the target for lanes of the source: rows first, then in the order of their variables."""
        order: dict[SSAValue, int] = {op.results[0]: n for n, op in enumerate(self.ops) if op.results}
        ordered = sorted(lanes, key=lambda lane: (not isinstance(lane.owner, attn.RowOp), order[lane]))
        return [self.target_lane(lane) for lane in ordered]

    def order_of(self, lane: SSAValue) -> int:
        """The place of a lane of the target among the operations of its block."""
        assert isinstance(lane.owner, Operation)
        block = lane.owner.parent
        assert block is not None
        return block.get_operation_index(lane.owner)

    def target_lane(self, lane: SSAValue) -> SSAValue:
        """The lane of the target that stands for a lane of the source."""
        if isinstance(lane.owner, attn.RowOp):
            assert self.row_lane is not None
            return self.row_lane
        self.need([lane])
        return self.get(lane)

    def rows(self) -> None:
        """One lane numbers all rows of a tile; the row variables are its digits, the first varying slowest."""
        rows = self.row_variables
        if not rows:
            return
        limits = [row.bound or known_limit(row.extent) or row.extent for row in rows]
        self.need([row.extent for row in rows] + limits)
        self.build.location = rows[0].location
        block, values = self.outermost.block, self.outermost.values
        extents = self.counts([row.extent for row in rows])
        total = self.product_of(extents)
        total.name_hint = total.name_hint or "rows"
        bound = None
        if any(limit is not row.extent for limit, row in zip(limits, rows, strict=True)):
            bound = self.product_of(self.counts(limits))
        size = self.build.size(self.rows_asked, "ROWS")
        name = "_".join(row.variable.data for row in rows)
        program = tile.ProgramOp(name, total, bound, size, self.later_rows_see_more())
        start = self.build.add(program, block, f"{name}0")
        self.row_lane = rest = self.build.add(tile.LaneOp(name, start, total, size), block, name)
        for row, extent in list(zip(rows, extents, strict=True))[:0:-1]:
            values[row.result] = self.build.add(spec.ModOp(rest, extent), block, row.variable.data)
            rest = self.build.add(arith.FloorDivSIOp(rest, extent), block)
        values[rows[0].result] = rest
        rest.name_hint = hint(rows[0].variable.data)

    def later_rows_see_more(self) -> bool:
        """Whether the number of a row's keys grows with the row."""
        over = over_of(self.source)
        rows = {row.result for row in self.row_variables}
        return over is not None and over.start is None and bool(rows & self.axes(over.extent))

    def counts(self, extents: Sequence[SSAValue]) -> list[SSAValue]:
        """Extents that may be multiplied: two that are negative must not make a positive number of rows."""
        facts = Facts(self.source.body.block)
        negative = {extent for extent in extents if not facts.nonnegative(facts.of(extent))}
        lowered = [self.get(extent) for extent in extents]
        if len(negative) < 2:
            return lowered
        zero, block = self.build.number(0), self.outermost.block
        return [
            self.build.add(arith.MaxSIOp(count, zero), block, count.name_hint) if extent in negative else count
            for extent, count in zip(extents, lowered, strict=True)
        ]

    def product_of(self, extents: Sequence[SSAValue]) -> SSAValue:
        """The product of lowered extents."""
        result = extents[0]
        for extent in extents[1:]:
            result = self.build.add(arith.MuliOp(result, extent), self.outermost.block)
        return result

    # --- lowering on demand

    def home(self, value: SSAValue) -> Scope:
        """The scope that a source value belongs to."""
        variables = self.axes(value)
        return next((s for s in reversed(self.scopes) if s.variable in variables), self.outermost)

    @contextmanager
    def apart(self, block: Block) -> Iterator[None]:
        """Lowers into a block that seldom runs: tiles are made anew there, so that none is kept for it."""
        usual, scopes = self.outermost, self.scopes
        kept = {value: made for value, made in usual.values.items() if len(self.build.axes(made)) < 2}
        self.outermost = Scope(block, None, kept)
        self.scopes = [self.outermost, *scopes[1:]]
        yield
        self.outermost, self.scopes = usual, scopes

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
            # A loop that was lowered meanwhile may have brought some of it.
            if op in wanted and op.results[0] not in self.home(op.results[0]).values:
                self.build.location = op.location
                self.home(op.results[0]).values[op.results[0]] = self.lower(op)

    def demands(self, op: Operation) -> Sequence[SSAValue]:
        """The values that lowering an operation takes."""
        if isinstance(op, attn.SumOp):
            plan = self.contraction(op)
            return plan.values if plan.form != "loop" else ()  # a loop asks for its own while it is open
        return op.operands

    def lower(self, op: Operation) -> SSAValue:
        """One source operation; its operands have been lowered."""
        scope, name = self.home(op.results[0]), op.results[0].name_hint
        lowered: Operation
        match op:
            case attn.GridOp():
                bound = self.get(op.bound) if op.bound is not None else None
                lowered = tile.ProgramOp(op.variable.data, self.get(op.extent), bound, self.build.number(1))
            case attn.AxisOp():
                extent = self.get(op.extent)
                lowered = tile.LaneOp(op.variable.data, self.build.number(0), extent, extent)
                scope = self.outermost
            case attn.ReadOp():
                conditions = [self.get(op.where)] if op.where is not None else []
                where = self.build.conjunction([*conditions, *self.own_keys(op)], scope.block)
                apart = self.outermost.block is not self.build.outermost
                lowered = tile.LoadOp(op.tensor, [self.get(v) for v in op.indices], where, op.result.type, apart)
            case attn.AllOp():
                lane = self.target_lane(op.over)
                lowered = tile.AllOp(self.build.along(self.get(op.body), lane, scope.block), lane)
            case attn.SumOp():
                return self.sum(op)
            case _:
                lowered = op.clone({operand: self.get(operand) for operand in op.operands})
        return self.build.add(lowered, scope.block, name)

    def own_keys(self, op: attn.ReadOp) -> Sequence[SSAValue]:
        """The conditions that a key is one of the row's own, where a read needs them.

        A tile of rows meets every key that one of the rows has. What was proved of an index of row and key together
        holds for the keys of that row.
        """
        met = [{type(variable.owner) for variable in self.axes(place)} for place in op.indices]
        if any({attn.RowOp, attn.OverOp} <= variables for variables in met):
            return self.inside
        return self.before_end if any(attn.OverOp in variables for variables in met) else ()

    # --- contractions

    def contraction(self, op: attn.SumOp) -> Contraction:
        """How a contraction is computed with the lanes that are open here."""
        return contraction(op.body, op.over, self.lanes)

    def sum(self, op: attn.SumOp) -> SSAValue:
        """The sum over a feature variable."""
        plan = self.contraction(op)
        if plan.form == "loop":
            return self.sum_loop(op)
        lane, scope = self.target_lane(op.over), self.home(op.result)
        self.build.location = op.location
        inside = replace(plan, outside=(), divisors=(), negative=False)
        result = self.contract(inside, lane, None, [], scope)
        if plan.outside or plan.divisors:
            # A sum of no terms is 0, and what it was multiplied with term by term no longer counts.
            axis = op.over.owner
            assert isinstance(axis, attn.AxisOp)
            extent, zero = self.get(axis.extent), self.build.number(0)
            terms = self.build.add(arith.CmpiOp(extent, zero, "sgt"), self.outermost.block)
            result = self.finish(plan, result, scope.block, [terms])
        else:
            result = self.finish(plan, result, scope.block)
        result.name_hint = op.result.name_hint
        return result

    def sum_loop(self, op: attn.SumOp) -> SSAValue:
        """A contraction that no tile holds: one value of its variable at a time."""
        home, axis = self.home(op.result), op.over.owner
        assert isinstance(axis, attn.AxisOp)
        self.need([axis.extent, *_sums_over(op.over, op.body)])  # in the loop their variable is no lane
        lanes = self.target_lanes(self.lanes(op.result))
        whole = op.result.type == index
        zero = self.build.number(0) if whole else self.build.constant(0.0, op.result.type)
        start = self.build.add(tile.SpreadOp(zero, lanes), home.block)
        block = self.build.loop_block([start])
        block.args[0].name_hint = hint(axis.variable.data)
        self.scopes.append(Scope(block, op.over, {op.over: block.args[0]}))
        self.need([op.body])
        self.build.location = op.location
        add = arith.AddiOp if whole else arith.AddfOp
        total = self.build.add(add(block.args[1], self.get(op.body)), block)
        self.build.place(scf.YieldOp(total), block)
        self.scopes.pop()
        one, first = self.build.number(1), self.build.number(0)
        loop = scf.ForOp(first, self.get(axis.extent), one, [start], Region(block))
        return self.build.add(loop, home.block, op.result.name_hint)

    def contract(
        self,
        plan: Contraction,
        lane: SSAValue,
        weight: SSAValue | None,
        where: list[SSAValue],
        scope: Scope,
        exact: bool = True,
    ) -> SSAValue:
        """A sum over a lane of the target: of the plan's product, times `weight`, where all of `where` hold.

        Unless it is to be `exact`, a matrix product is right only where it is finite.
        """
        block = scope.block
        left = self.product(weight, plan.left, block)
        if plan.form == "dot":
            right = self.product(None, plan.right, block)
            # A condition on keys alone is put into the values; one that tells rows apart is left to the product.
            alone = [c for c in where if self.build.axes(c) <= {lane}]
            others = self.build.conjunction((c for c in where if c not in alone), block) if exact else None
            right = self.build.along(self.build.select(alone, right, block), lane, block)
            left = self.build.select(alone, left, block) if plan.left else left
            result = self.build.add(tile.DotOp(self.build.along(left, lane, block), right, lane, others), block)
        else:
            terms = self.build.along(self.build.select(where, left, block), lane, block)
            result = self.build.add(tile.SumOp(terms, lane), block)
        finished, seen = self.finish(plan, result, block), self.build.conjunction(where, block)
        if finished is result or seen is None:
            return finished
        # A row that sees none of these keys has 0 here, whatever its sum would be multiplied with.
        hidden = self.build.add(arith.XOrIOp(seen, self.build.constant(True, i1)), block)
        nothing = self.build.add(tile.AllOp(self.build.along(hidden, lane, block), lane), block)
        zero = self.build.constant(0.0, finished.type)
        return self.build.add(arith.SelectOp(nothing, zero, finished), block)

    def product(self, weight: SSAValue | None, factors: Iterable[SSAValue], block: Block) -> SSAValue:
        """The product of source values as they have become, and of `weight`; 1 where there are none."""
        lowered = [self.get(factor) for factor in factors]
        product = self.build.product([weight, *lowered] if weight is not None else lowered, block)
        return product if product is not None else self.build.constant(1.0, self.real_type)

    def finish(self, plan: Contraction, result: SSAValue, block: Block, where: Sequence[SSAValue] = ()) -> SSAValue:
        """A contraction's sum, multiplied with and divided by what stands outside it, where all of `where` hold."""
        for factor in plan.outside:
            result = self.build.add(arith.MulfOp(result, self.build.select(where, self.get(factor), block, 1.0)), block)
        for divisor in plan.divisors:
            result = self.build.add(
                arith.DivfOp(result, self.build.select(where, self.get(divisor), block, 1.0)), block
            )
        return self.build.add(arith.NegfOp(result), block) if plan.negative else result

    @property
    def real_type(self) -> Attribute:
        """The type that the kernel computes in."""
        return next(op.value.type for op in self.ops if isinstance(op, attn.WriteOp))


def _sums_over(variable: SSAValue, value: SSAValue) -> list[SSAValue]:
    """The sums over a variable that a value rests on."""
    found: list[SSAValue] = []
    seen, stack = {value}, [value]
    while stack:
        op = stack.pop().owner
        if isinstance(op, attn.SumOp) and op.over is variable:
            found.append(op.result)
        elif isinstance(op, Operation):
            new = [operand for operand in op.operands if operand not in seen]
            seen.update(new)
            stack += new
    return found
