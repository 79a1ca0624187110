"""bound-loops: what a mask says of where keys begin and end becomes the range of the key variable.

Why: a causal mask, a window, a chunk, a length are intervals of keys. As an interval it costs nothing to prepare and
nothing to test inside it; what is no interval stays a mask. The ends may depend on the row and read data.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %v = attn.read @x[%j] : f32
      %seen = arith.cmpi sle, %j, %i : index
      %t = attn.total %v over %j where %seen : f32
      attn.write @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %c1 = arith.constant 1 : index
      %end = arith.addi %i, %c1 : index
      %stop = arith.minsi %N, %end : index
      %j = attn.over "j" to %stop up to %N
      %v = attn.read @x[%j] : f32
      %t = attn.total %v over %j : f32
      attn.write @o[%i] = %t : f32
    }

A condition is taken out where every reduction of the kernel has it and it is, for one row, an interval of keys: it
compares integers and is linear in the key variable (or in a quotient of it), or it does not depend on it at all. A
disjunction of upper bounds is the larger bound. One that all writes of a row have, too, is no bound, and left out: what
is computed for a row that writes nothing is nobody's. So rows of a packed batch, whose places data tell, end where
their masks say, and no row has to ask whether it lies in its tensor.

Requires: simplify-indices. Ensures: no condition of that form is left in a mask. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.clip import not_far_above, not_far_below
from attndsl.ir.exactness import Exactness
from attndsl.ir.intervals import Bounds, Intervals
from attndsl.ir.keys import common_conjuncts, conjunction, conjuncts, over_of, reductions_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import guarded, index_constant, insert_before, remove_dead, replace, sort_block
from attndsl.ir.sizes import size_of
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith, i1


@dataclass(frozen=True)
class BoundLoops(ModulePass):
    """Moves interval conditions from masks into the range of the key variable."""

    name = "bound-loops"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp) and (over := over_of(kernel)) is not None:
                _bound(kernel, over)
                sort_block(kernel.body.block)
        remove_dead(op)


def _bound(kernel: attn.KernelOp, over: attn.OverOp) -> None:
    reductions = reductions_of(kernel)
    common = common_conjuncts(reductions)
    bounder = _Bounder(over, Facts(kernel.body.block))
    taken: dict[SSAValue, Bounds] = {}
    written = _written(kernel)
    for condition in common:
        bounds = Bounds(None, None) if condition in written else bounder.interval(condition)
        if bounds is not None:
            taken[condition] = bounds
    if not taken:
        return
    for reduction in reductions:
        rest = [c for c in conjuncts(reduction.where) if c not in taken]
        narrowed = guarded(reduction, conjunction(rest, reduction))
        kernel.body.block.insert_op_before(narrowed, reduction)
        replace(reduction, narrowed.results)
    if ends := [bounds for bounds in taken.values() if bounds != Bounds(None, None)]:
        _narrow(over, ends, bounder.intervals.facts.ranges)


def _written(kernel: attn.KernelOp) -> set[SSAValue]:
    """The conditions that all writes of a row have, in whatever they write."""
    writes = [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp)]
    return set.intersection(*(set(conjuncts(write.where)) for write in writes)) if writes else set()


def _narrow(over: attn.OverOp, intervals: list[Bounds], ranges: Ranges) -> None:
    start, extent = over.start, over.extent
    for interval in intervals:
        if interval.lower is not None:
            start = (
                interval.lower
                if start is None
                else insert_before(over, arith.MaxSIOp(start, interval.lower), "row_start")
            )
        if interval.upper is not None:
            extent = insert_before(over, arith.MinSIOp(extent, interval.upper), "row_stop")
    if start is not None and start is not over.start:
        zero, limit = insert_before(over, index_constant(0)), over.extent
        start = insert_before(over, arith.MaxSIOp(start, zero), "row_start")
        if ranges(limit).low < 0:  # a start is never before 0, also where there are no keys
            limit = insert_before(over, arith.MaxSIOp(limit, zero))
        start = not_far_above(start, limit, over, ranges, "row_start")
    extent = not_far_below(extent, over, ranges, "row_stop")
    bound = over.bound if over.bound is not None or size_of(over.extent) is None else over.extent
    narrowed = attn.OverOp(over.variable.data, extent, bound, start, within=over.within)
    replace(over, [insert_before(over, narrowed, over.variable.data)])


class _Bounder:
    """Reads conditions as intervals of one key variable; what it computes stands before that variable."""

    def __init__(self, over: attn.OverOp, facts: Facts) -> None:
        self.over = over
        self.key = over.result
        self.axes = AxesAnalysis()
        self.known: dict[SSAValue, Bounds | None] = {}
        self.intervals = Intervals(over.result, over, facts)

    def interval(self, condition: SSAValue) -> Bounds | None:
        """The interval that a condition is, or None where it is none."""
        if condition not in self.known:
            self.known[condition] = self._interval(condition)
        return self.known[condition]

    def _interval(self, condition: SSAValue) -> Bounds | None:
        if self.over.within in self.axes(condition):
            return None  # the range is the same for all values of the outer variable
        if self.key not in self.axes(condition):
            # Without the key it holds for all of a row's keys or for none.
            upper = insert_before(self.over, arith.SelectOp(condition, self.over.extent, self._zero()))
            return Bounds(None, upper)
        op = condition.owner
        if isinstance(op, arith.OrIOp) and op.result.type == i1:
            return self._union(self.interval(op.lhs), self.interval(op.rhs))
        if isinstance(op, arith.CmpiOp) and op.lhs.type != i1:
            return self.intervals.of(op)
        return None

    def _zero(self) -> SSAValue:
        return insert_before(self.over, index_constant(0))

    def _union(self, a: Bounds | None, b: Bounds | None) -> Bounds | None:
        """Two intervals that are open at the same side are one."""
        if a is None or b is None:
            return None
        if a.lower is None and b.lower is None and a.upper is not None and b.upper is not None:
            return Bounds(None, insert_before(self.over, arith.MaxSIOp(a.upper, b.upper)))
        if a.upper is None and b.upper is None and a.lower is not None and b.lower is not None:
            return Bounds(insert_before(self.over, arith.MinSIOp(a.lower, b.lower)), None)
        return None
