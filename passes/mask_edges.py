"""mask-edges: of a tile of keys only those are masked that some row may not see, and most tiles have none.

Why: most tiles of a causal mask, a window or a long row lie wholly inside what a row sees, and the others are cut
through near one end. A mask over all of it costs a comparison, a select and a tile of each, in every turn. With the
keys known up to which, or from which on, all rows see everything, the rest is a part of few tiles.

Before:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %none = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %size rows from %zero to %i iter_args(%m = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %seen = arith.cmpi sgt, %i, %j : index
        %x = tile.load @x[%i, %j] : f32
        %s = arith.select %seen, %x, %low : f32
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %none = tile.broadcast %low over (%i) : f32 to f32
      %full_stop = tile.min %i over %i : index to index
      %t = tile.loop %j0 = %zero to %N step %size rows from %zero to %i iter_args(%m = %none) -> (f32) {
        %next = arith.addi %j0, %size : index
        %end = arith.minsi %next, %N : index
        %mixed = arith.cmpi sgt, %end, %full_stop : index
        %j = tile.range "j" from %j0 to %end size %size
        %x = tile.load @x[%i, %j] : f32
        %s = scf.if %mixed -> (f32) {
          %from = arith.maxsi %j0, %full_stop : index
          %length = arith.subi %end, %from : index
          %edge = tile.range "j" from %from to %end size %length
          %hidden = arith.cmpi sle, %i, %edge : index
          %masked = tile.mask %x along %j with %low where %hidden over %edge : f32
          scf.yield %masked : f32
        } else {
          scf.yield %x : f32
        }
        %largest = tile.max %s over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A condition is taken apart where it holds in an interval of keys whose ends the loop does not change, or where a
tile.holds says so. What a product leaves out by such conditions alone is looked at in mixed tiles only
(`guess-finite`). What else rests on a condition still finds it, computed where it is asked for.

Requires: tile, guess-finite. Ensures: no tile.holds is left. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.ends import end_of
from attndsl.ir.exactness import Exactness
from attndsl.ir.intervals import Bounds
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.meaning import OPPOSITES, is_elementwise, predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.relaxation import computed_in
from attndsl.ir.rewrite import constant, constant_op, insert_before, remove_dead, replace
from attndsl.ir.settled import over_rows, settled_in
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import (
    AnyFloat,
    Block,
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    Region,
    SSAValue,
    arith,
    i1,
    index,
    scf,
)


@dataclass(frozen=True)
class MaskEdges(ModulePass):
    """Masks the scores of every loop over keys at the edges of what all rows of a tile see."""

    name = "mask-edges"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                facts = Facts(kernel.body.block)
                for loop in [o for o in kernel.body.block.ops if isinstance(o, tile.LoopOp)]:
                    axis = loop.axis
                    if axis is not None and (settled := settled_in(loop, axis, facts)):
                        _Edges(loop, axis, settled).mask()
                for holds in of_kind(kernel, tile.HoldsOp):
                    replace(holds, [])
        remove_dead(op)


@dataclass(frozen=True)
class Edge:
    """The keys of a tile that a condition may fail at: from `limit` on, or before it; `mixed` says if it has any."""

    condition: SSAValue
    limit: SSAValue
    from_limit: bool
    mixed: SSAValue


class _Edges:
    """One loop over keys whose conditions `settled` hold in intervals."""

    def __init__(self, loop: tile.LoopOp, axis: tile.RangeOp, settled: dict[Operation, Bounds]) -> None:
        self.loop = loop
        self.axis = axis
        self.settled = settled
        self.axes = AxesAnalysis()
        self.known: dict[SSAValue, list[Edge]] = {}

    def mask(self) -> None:
        """Masks what is selected, and looks at products in mixed tiles alone."""
        for op in list(self.loop.body.block.ops):
            if isinstance(op, arith.SelectOp) and self.is_masked(op):
                self.select(op)
            elif isinstance(op, scf.IfOp) and self.looks_at_product(op):
                self.look(op)
        for op in reversed(list(self.loop.body.block.ops)):
            self.sink(op)

    # --- what is masked

    def is_masked(self, op: arith.SelectOp) -> bool:
        """Whether a select leaves numbers of a tile out where one of the conditions does not hold."""
        if not isinstance(op.result.type, AnyFloat) or constant(op.rhs) is None:
            return False
        axes = self.axes(op.lhs)
        found = any(condition.owner in self.settled for condition in conjuncts(op.cond))
        return found and self.axis.result in axes and self.axes(op.cond) <= axes

    def select(self, op: arith.SelectOp) -> None:
        """Masks the edges of what a select leaves out by conditions that hold in intervals, the rest before them."""
        conditions = conjuncts(op.cond)
        value, name = op.lhs, op.result.name_hint
        others = conjunction([c for c in conditions if c.owner not in self.settled], op)
        if others is not None:
            value = insert_before(op, arith.SelectOp(others, value, op.rhs), name)
        elif not isinstance(value.owner, tile.LoadOp):
            value.name_hint = name or value.name_hint
        for condition in conditions:
            for edge in self.edges(condition) if condition.owner in self.settled else ():
                value = self.masked(op, value, edge)
                value.name_hint = name
        replace(op, [value])

    def masked(self, op: arith.SelectOp, value: SSAValue, edge: Edge) -> SSAValue:
        """A tile whose edge is masked, where it has one."""
        last, kept = scf.YieldOp(value), scf.YieldOp(value)
        last.location = kept.location = op.location
        then, otherwise = Block([last]), Block([kept])
        start, end, name = self.axis.start, self.end, self.axis.variable.data
        if edge.from_limit:
            start = insert_before(last, arith.MaxSIOp(start, edge.limit), f"{name}_from")
        else:
            end = insert_before(last, arith.MinSIOp(end, edge.limit), f"{name}_to")
        length = insert_before(last, arith.SubiOp(end, start))
        part = insert_before(last, tile.RangeOp(name, start, end, length), f"{name}_edge")
        copies: dict[SSAValue, SSAValue] = {self.axis.result: part}
        for inner in computed_in(self.loop, edge.condition):
            if self.axis.result in self.axes(inner.results[0]):
                copy = inner.clone(copies)
                copy.location = inner.location
                then.insert_op_before(copy, last)
        hidden = _negated(copies[edge.condition], last)
        last.operands[0] = insert_before(last, tile.MaskOp(value, self.axis.result, op.rhs, hidden, part))
        return insert_before(op, scf.IfOp(edge.mixed, [value.type], Region(then), Region(otherwise)))

    # --- products

    def looks_at_product(self, op: scf.IfOp) -> bool:
        """Whether a choice makes a product anew that leaves out what the conditions say, and nothing else."""
        negation = op.cond.owner
        if not isinstance(negation, arith.XOrIOp) or not isinstance(negation.lhs.owner, tile.FiniteOp):
            return False
        dots = [inner for inner in op.true_region.block.ops if isinstance(inner, tile.DotOp)]
        return bool(dots) and all(c.owner in self.settled for dot in dots for c in conjuncts(dot.where))

    def look(self, op: scf.IfOp) -> None:
        """Asks whether a tile is mixed before it asks whether a product is finite."""
        dots = [inner for inner in op.true_region.block.ops if isinstance(inner, tile.DotOp)]
        found = [edge.mixed for dot in dots for condition in conjuncts(dot.where) for edge in self.edges(condition)]
        mixed, *others = dict.fromkeys(found)
        for other in others:
            mixed = insert_before(op, arith.OrIOp(mixed, other))
        op.operands[0] = insert_before(op, arith.AndIOp(mixed, op.cond))

    # --- edges

    def edges(self, condition: SSAValue) -> Sequence[Edge]:
        """The edges that a condition has in a tile: one for each end of the interval in which it holds."""
        if condition not in self.known:
            assert isinstance(condition.owner, Operation)
            lower, upper = self.settled[condition.owner]
            found = self.known[condition] = []
            if lower is not None:
                limit = over_rows(self.loop, [lower], arith.MaxSIOp, tile.MaxOp)
                mixed = self.compare(arith.CmpiOp(self.axis.start, limit, "slt"), limit, "start")
                found.append(Edge(condition, limit, False, mixed))
            if upper is not None:
                limit = over_rows(self.loop, [upper], arith.MinSIOp, tile.MinOp)
                mixed = self.compare(arith.CmpiOp(self.end, limit, "sgt"), limit, "stop")
                found.append(Edge(condition, limit, True, mixed))
        return self.known[condition]

    def compare(self, op: arith.CmpiOp, limit: SSAValue, name: str) -> SSAValue:
        """Whether a tile has an edge at a limit, at the start or stop of what all rows see; before its axis."""
        limit.name_hint = limit.name_hint or f"full_{name}"
        return insert_before(self.axis, op, f"mixed_{name}")

    @property
    def end(self) -> SSAValue:
        """Where the axis of a tile ends."""
        return end_of(self.axis)

    # --- what only mixed tiles ask for

    def sink(self, op: Operation) -> None:
        """Computes what only choices ask for where they do."""
        if not is_elementwise(op) or op.results[0].type not in (i1, index):
            return
        uses = list(op.results[0].uses)
        blocks = [block for use in uses if (block := use.operation.parent) is not None]
        if not all(
            isinstance(around := block.parent_op(), scf.IfOp) and around.parent is op.parent for block in blocks
        ):
            return
        for block in dict.fromkeys(blocks):
            assert block.first_op is not None
            copy = op.clone()
            copy.location = op.location
            block.insert_op_before(copy, block.first_op)
            for use in uses:
                if use.operation.parent is block:
                    use.operation.operands[use.index] = copy.results[0]
        op.detach()
        op.erase()


def _negated(condition: SSAValue, anchor: Operation) -> SSAValue:
    """What holds where a condition does not, computed before `anchor`."""
    op = condition.owner
    if isinstance(op, arith.CmpiOp) and (opposite := OPPOSITES.get(predicate(op))) is not None:
        return insert_before(anchor, arith.CmpiOp(op.lhs, op.rhs, opposite))
    return insert_before(anchor, arith.XOrIOp(condition, insert_before(anchor, constant_op(True, i1))))
