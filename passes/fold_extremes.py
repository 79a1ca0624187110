"""fold-extremes: the largest and the least of what grows along a tile are those of its last and its first row.

Why: where a loop over keys stops is the largest of its rows' ends. A reduction over a tile waits for other threads, and
nothing is read before it is known. Where ends only grow, or only fall, from row to row, as causal ones do, one row says
it, in a few scalar instructions.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = spec.choice "ROWS"
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %G = arith.constant 2 : index
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %end = arith.floordivsi %i, %G : index
      %stop = tile.max %end over %i : index to index
      %start = tile.broadcast %none over (%i) : f32 to f32
      %t = tile.loop %j = %zero to %stop step %one iter_args(%s = %start) -> (f32) {
        %v = tile.load @x[%j] : f32
        %s1 = arith.addf %s, %v : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = spec.choice "ROWS"
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %G = arith.constant 2 : index
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %one1 = arith.constant 1 : index
      %beyond = arith.addi %i0, %rows : index
      %within = arith.minsi %beyond, %M : index
      %before = arith.subi %within, %one1 : index
      %last = arith.maxsi %before, %i0 : index
      %stop = arith.floordivsi %last, %G : index
      %start = tile.broadcast %none over (%i) : f32 to f32
      %t = tile.loop %j = %zero to %stop step %one iter_args(%s = %start) -> (f32) {
        %v = tile.load @x[%j] : f32
        %s1 = arith.addf %s, %v : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

Where a row ends at the least of several numbers, or at one of two, as a row does that reads nothing, the least of all
ends is the least of their least; and none is larger than the least of their largest, which does for a loop: what a row
may not see it asks itself. A GPU waits for a reduction, and walks a tile more now and then; `plain` leaves that out.

A program has at least one row. The largest with its first row only tells what cannot be negative from what could,
which the widths of a GPU's numbers rest on; `plain` leaves it out.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import copy_at, index_constant, insert_before, remove_dead, replace
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith, index, scf


@dataclass(frozen=True)
class FoldExtremes(ModulePass):
    """Takes the first or the last row in the place of the least or the largest of all."""

    name = "fold-extremes"
    exactness = Exactness.EXACT
    plain: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = []
        for kernel in op.body.block.ops:
            reduces = [o for o in operations(kernel) if isinstance(o, tile.MaxOp | tile.MinOp) and o.body.type == index]
            if isinstance(kernel, tile.KernelOp) and reduces:
                rows = _Rows(AxesAnalysis(), Facts(kernel.body.block))
                folded += [reduce for reduce in reduces if _fold(reduce, rows, self.plain)]
        if folded:
            remove_dead(op)


def _fold(reduce: tile.MaxOp | tile.MinOp, rows: _Rows, plain: bool) -> bool:
    axis = reduce.over.owner
    if not isinstance(axis, tile.RangeOp) or axis.result not in rows.axes(reduce.body):
        return False
    parts = [reduce.body]
    if rows.direction(reduce.body, axis.result) is None and (
        isinstance(reduce, tile.MinOp) or (not plain and _only_ends(reduce, rows.axes))
    ):
        parts = _least_of(reduce.body)
    if any(rows.direction(part, axis.result) is None and not rows.is_step(part, axis.result) for part in parts):
        return False
    extremes = _Extremes(reduce, axis, rows, plain)
    found, *others = map(extremes.of, parts)
    for other in others:
        found = insert_before(reduce, arith.MinSIOp(found, other))
    found.name_hint = reduce.result.name_hint
    replace(reduce, [found])
    return True


def _least_of(value: SSAValue) -> list[SSAValue]:
    """The numbers of which a number is the least."""
    op = value.owner
    return [*_least_of(op.lhs), *_least_of(op.rhs)] if isinstance(op, arith.MinSIOp) else [value]


def _only_ends(reduce: tile.MaxOp | tile.MinOp, axes: AxesAnalysis) -> bool:
    """Whether an extreme of rows' ends only says where loops end, and what they read.

    It may be larger then: a loop that knows where rows end leaves out what is behind that.
    """
    waiting, seen = [reduce.result], set[SSAValue]()
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            if isinstance(op, tile.StoreOp | tile.YieldOp | scf.YieldOp):
                return False
            if isinstance(op, tile.LoopOp) and op.row_stop is not reduce.body:
                return False
            if isinstance(op, (tile.LoopOp, tile.RangeOp, tile.PlaceOp, *tile.STATEMENTS)) or op.results[0] in seen:
                continue
            if not axes(op.results[0]):
                seen.add(op.results[0])
                waiting.append(op.results[0])
            elif not _is_read_alone(op.results[0]):
                return False
    return True


def _is_read_alone(condition: SSAValue) -> bool:
    """Whether a condition only says what is read."""
    ops = [use.operation for use in condition.uses]
    return all(
        isinstance(op, tile.LoadOp) or (isinstance(op, arith.AndIOp) and _is_read_alone(op.result)) for op in ops
    )


@dataclass(frozen=True)
class _Extremes:
    """Writes the largest or the least of numbers along an axis, in the place of a reduction."""

    reduce: tile.MaxOp | tile.MinOp
    axis: tile.RangeOp
    rows: _Rows
    plain: bool

    def of(self, value: SSAValue) -> SSAValue:
        """The extreme of a number that is that of the first row, of the last, or of either."""
        direction = self.rows.direction(value, self.axis.result)
        if direction is None:
            kind = arith.MaxSIOp if isinstance(self.reduce, tile.MaxOp) else arith.MinSIOp
            return insert_before(self.reduce, kind(self._at(value, False), self._at(value, True)))
        return self._at(value, (direction > 0) == isinstance(self.reduce, tile.MaxOp)) if direction else value

    def _at(self, value: SSAValue, last: bool) -> SSAValue:
        row = _last(self.axis, self.reduce, self.plain) if last else self.axis.start
        return copy_at(value, {self.axis.result: row}, self.axis.result, self.rows.axes, self.reduce)


@dataclass(frozen=True)
class _Rows:
    """How the numbers of a kernel differ from row to row."""

    axes: AxesAnalysis
    facts: Facts
    known: dict[tuple[SSAValue, SSAValue], int | None] = field(default_factory=dict)

    def direction(self, value: SSAValue, axis: SSAValue) -> int | None:
        """1 where a number never falls along an axis, -1 where it never grows, 0 where it stays, else None."""
        if (value, axis) not in self.known:  # values share operands
            self.known[value, axis] = self._direction(value, axis)
        return self.known[value, axis]

    def _direction(self, value: SSAValue, axis: SSAValue) -> int | None:
        if value is axis:
            return 1
        if axis not in self.axes(value):
            return 0
        op = value.owner
        if not self.facts.ranges.fits(value):
            return None
        match op:
            case arith.AddiOp() | arith.MinSIOp() | arith.MaxSIOp():
                return _together(self.direction(op.lhs, axis), self.direction(op.rhs, axis))
            case arith.SubiOp():
                falling = self.direction(op.rhs, axis)
                return _together(self.direction(op.lhs, axis), None if falling is None else -falling)
            case arith.MuliOp() | arith.FloorDivSIOp():
                steady = axis not in self.axes(op.rhs) and self.facts.nonnegative(self.facts.of(op.rhs))
                return self.direction(op.lhs, axis) if steady else None
        return None

    def is_step(self, value: SSAValue, axis: SSAValue) -> bool:
        """Whether a number is one of two, and changes from the one to the other once along an axis at most."""
        op = value.owner
        test = op.cond.owner if isinstance(op, arith.SelectOp) else None
        if not isinstance(op, arith.SelectOp) or not isinstance(test, arith.CmpiOp):
            return False
        if predicate(test) not in ("slt", "sle", "sgt", "sge") or axis in self.axes(op.lhs) | self.axes(op.rhs):
            return False
        other = self.direction(test.rhs, axis)
        return _together(self.direction(test.lhs, axis), None if other is None else -other) is not None


def _together(one: int | None, other: int | None) -> int | None:
    if one is None or other is None or one * other < 0:
        return None
    return one or other


def _last(axis: tile.RangeOp, anchor: Operation, plain: bool) -> SSAValue:
    """The last row of a tile, of which a program has at least one."""
    one = insert_before(anchor, index_constant(1))
    beyond = insert_before(anchor, arith.AddiOp(axis.start, axis.size))
    within = insert_before(anchor, arith.MinSIOp(beyond, axis.stop))
    if plain:
        return insert_before(anchor, arith.SubiOp(within, one), "last")
    return insert_before(anchor, arith.MaxSIOp(insert_before(anchor, arith.SubiOp(within, one)), axis.start), "last")
