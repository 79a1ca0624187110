"""split-ranges: a loop over keys is cut in two where a choice between tensors, or between addresses, changes.

Why: keys may lie in two places: those of a cache, and the new ones behind them; those that requests share, and each
one's own. The choice `if j < P then old[j, :] else new[j - P, :]` reads both at each key and keeps one. Where it is the
same for all rows, the keys before P run in one loop and the others in the next, which goes on with what the first
carries: each reads one tensor, a plain slice of it, as if the two had been concatenated.

Before:

    spec.tensor @old "input" "f32" ["P", "D"]
    spec.tensor @new "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["D"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %P = spec.dim "P"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %d = tile.range "d" from %c0 to %D size %D
      %none = tile.broadcast %zero over (%d) : f32 to f32
      %stop = arith.addi %P, %N : index
      %t = tile.loop %j0 = %c0 to %stop step %size iter_args(%s = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %stop size %size
        %first = arith.cmpi slt, %j, %P : index
        %x = tile.load @old[%j, %d] where %first : f32
        %place = arith.subi %j, %P : index
        %second = arith.cmpi sge, %j, %P : index
        %y = tile.load @new[%place, %d] where %second : f32
        %v = arith.select %first, %x, %y : f32
        %sum = tile.sum %v over %j : f32 to f32
        %s1 = arith.addf %s, %sum : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%d] = %t : f32
    }

After:

    spec.tensor @old "input" "f32" ["P", "D"]
    spec.tensor @new "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["D"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %P = spec.dim "P"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %d = tile.range "d" from %c0 to %D size %D
      %none = tile.broadcast %zero over (%d) : f32 to f32
      %stop = arith.addi %P, %N : index
      %t0 = tile.loop %j0 = %c0 to %P step %size iter_args(%s = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %P size %size
        %true = arith.constant true
        %first = tile.broadcast %true over (%j) : i1 to i1
        %x = tile.load @old[%j, %d] where %first : f32
        %place = arith.subi %j, %P : index
        %false = arith.constant false
        %second = tile.broadcast %false over (%j) : i1 to i1
        %y = tile.load @new[%place, %d] where %second : f32
        %v = arith.select %first, %x, %y : f32
        %sum = tile.sum %v over %j : f32 to f32
        %s1 = arith.addf %s, %sum : f32
        tile.yield %s1 : f32
      }
      %t = tile.loop %j0 = %P to %stop step %size iter_args(%s = %t0) -> (f32) {
        %j = tile.range "j" from %j0 to %stop size %size
        %false = arith.constant false
        %first = tile.broadcast %false over (%j) : i1 to i1
        %x = tile.load @old[%j, %d] where %first : f32
        %place = arith.subi %j, %P : index
        %true = arith.constant true
        %second = tile.broadcast %true over (%j) : i1 to i1
        %y = tile.load @new[%place, %d] where %second : f32
        %v = arith.select %first, %x, %y : f32
        %sum = tile.sum %v over %j : f32 to f32
        %s1 = arith.addf %s, %sum : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%d] = %t : f32
    }

A condition cuts a loop where it is an interval of the key whose ends are the same for all rows of the tile: dims,
parameters, what a program reads. It has to choose between tiles of features, or numbers of rows and keys, that are
read, or where one of them is read: for less the code is not worth having twice. All conditions are settled that an end
decides, the ends of the rows' own keys among them: of a causal mask the keys before the rows need none. A loop is cut
into four at most, what is left is chosen as before. The end is brought between those of the loop, wherever it lies.
Where tiles are of a fixed size, the last of a loop may reach beyond its end: rows' own keys then stop there, too.

Requires: tile; runs before scan-keys. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attndsl.ir import tile
from attndsl.ir.analyses.order import is_at_least
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.intervals import Bounds
from attndsl.ir.polynomial import Facts
from attndsl.ir.relaxation import computed_in
from attndsl.ir.rewrite import copied, insert_before, remove_dead, uniform
from attndsl.ir.settled import is_own_stop, settle, settled_in
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith, i1, index

LOOPS = 4
"""A loop becomes so many at most: what two ends cut of which nothing tells which comes first."""


@dataclass(frozen=True)
class SplitRanges(ModulePass):
    """Cuts every loop over tiles of keys at the ends of the ranges that choices tell apart."""

    name = "split-ranges"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cuts = 0
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                facts = Facts(kernel.body.block)
                for loop in [o for o in kernel.body.block.ops if isinstance(o, tile.LoopOp)]:
                    cuts += _cuts(loop, facts)
        if cuts:
            remove_dead(op)


class _Part(NamedTuple):
    """A loop over some of the keys that it had, and the places that these are known to be at least, or below."""

    loop: tile.LoopOp
    lows: tuple[SSAValue, ...] = ()
    highs: tuple[SSAValue, ...] = ()


def _cuts(loop: tile.LoopOp, facts: Facts) -> int:
    """Cuts a loop as often as choices ask for, and says how often."""
    waiting, made = [_Part(loop)], 0
    while waiting and made < LOOPS - 1:
        part = waiting.pop(0)
        cut = _find_cut(part, facts)
        if cut is not None:
            waiting += cut.apply()
            made += 1
    return made


# --- where a loop is to be cut


def _find_cut(part: _Part, facts: Facts) -> _Cut | None:
    """The first place at which a choice in a loop changes, None where it has none that matters."""
    loop, axis = part.loop, part.loop.axis
    choices = list(_choices(loop, axis)) if axis is not None and loop.tiles is None else []
    if axis is None or not choices:
        return None
    settled, axes = settled_in(loop, axis, facts), AxesAnalysis()
    stops_with_loop = axis.stop is loop.ub
    if not stops_with_loop and not any(is_own_stop(op, loop, axis.result) for op in settled):
        return None  # nothing would leave out what lies behind the last key in its tile
    lows, highs = (loop.lb, *part.lows), (loop.ub, *part.highs)
    for end in (end for choice in choices for c in _compared(choice.cond) for end in settled.get(c, ())):
        if end is None or axes(end):
            continue
        if not any(is_at_least(v, end, facts) for v in lows) and not any(is_at_least(end, v, facts) for v in highs):
            return _Cut(part, axis, end, settled, facts, stops_with_loop)
    return None


def _choices(loop: tile.LoopOp, axis: tile.RangeOp) -> Iterator[arith.SelectOp]:
    """The choices that the key decides, and that tell which tiles are read."""
    axes, ends = AxesAnalysis(), (loop.lb, loop.ub, loop.row_start, loop.row_stop)
    found = [op for op in loop.body.block.ops if isinstance(op, arith.SelectOp)]
    asked = {op: [each for each in _compared(op.cond) if each.lhs not in ends] for op in found}
    found = [op for op in found if any(axes(each.result) == {axis.result} for each in asked[op])]
    if not found:
        return
    live = _live(loop)
    loads = [op for op in loop.body.block.ops if isinstance(op, tile.LoadOp)]
    tiles = {op for op in loads if axis.result in axes(op.result) and len(axes(op.result)) > 1}
    for op in filter(live.__contains__, found):
        one, other = (tiles.intersection(computed_in(loop, arm)) for arm in (op.lhs, op.rhs))
        chooses = one and other and one != other  # of a mask one arm reads nothing
        if chooses or any(op in computed_in(loop, *load.indices) for load in tiles):
            yield op


def _live(loop: tile.LoopOp) -> set[Operation]:
    """What the body of a loop computes, but for the arms of choices that are not taken."""
    body, truths, found = loop.body.block, _truths(loop), set[Operation]()
    stack: list[Operation] = [op for op in body.ops if isinstance(op, tile.YieldOp | tile.PresentOp)]
    while stack:
        op = stack.pop()
        if isinstance(op, arith.SelectOp) and op.cond in truths:
            operands = [op.lhs if truths[op.cond] else op.rhs]
        else:
            found.add(op)
            operands = [operand for inner in op.walk() for operand in inner.operands]
        owners = [operand.owner for operand in operands]
        stack += [each for each in owners if isinstance(each, Operation) and each.parent is body and each not in found]
    return found


def _truths(loop: tile.LoopOp) -> dict[SSAValue, bool]:
    """What conditions in a loop are known to be at all places of their tiles."""
    known: dict[SSAValue, bool] = {}
    for op in loop.body.block.ops:
        if not op.results or op.results[0].type != i1:
            continue
        truth, parts = uniform(op.results[0]), [known.get(v, uniform(v)) for v in op.operands]
        match op:
            case arith.AndIOp() | arith.OrIOp():
                decisive = isinstance(op, arith.OrIOp)
                truth = decisive if decisive in parts else None if None in parts else not decisive
            case arith.XOrIOp() if None not in parts:
                truth = parts[0] != parts[1]
        if truth is not None:
            known[op.results[0]] = bool(truth)
    return known


def _compared(condition: SSAValue) -> Iterator[arith.CmpiOp]:
    """The comparisons of integers that a condition is made of."""
    stack, seen = [condition], set[SSAValue]()
    while stack:
        value = stack.pop()
        op = value.owner
        if value in seen:
            continue
        seen.add(value)
        if isinstance(op, arith.AndIOp | arith.OrIOp | arith.XOrIOp) and value.type == i1:
            stack += (op.rhs, op.lhs)
        elif isinstance(op, arith.CmpiOp) and op.lhs.type == index:
            yield op


# --- cutting it there


class _Ends(NamedTuple):
    """Where a loop, and its rows' own keys, start and stop."""

    low: SSAValue
    high: SSAValue
    row_start: SSAValue
    row_stop: SSAValue


@dataclass(frozen=True)
class _Cut:
    """A place at which a loop is cut, whose keys are those of `axis`, and the conditions that hold in intervals."""

    part: _Part
    axis: tile.RangeOp
    place: SSAValue
    settled: dict[Operation, Bounds]
    facts: Facts
    stops_with_loop: bool
    """Whether the last tile ends where the loop does, and is not as large as the others."""

    def apply(self) -> tuple[_Part, _Part]:
        """Cuts the loop: a copy of it has the keys before the place, itself those from there on."""
        loop, lows, highs = self.part
        place, first = self.place, copied(loop)
        assert loop.parent is not None
        loop.parent.insert_op_before(first, loop)
        copies = dict(zip(loop.walk(), first.walk(), strict=True))
        low, high, *_, row_start, row_stop = loop.operands
        end = self.between(place, low, high, first)
        starts_before = row_start is low or self.at_least(place, row_start)
        stops_behind = row_stop is high or self.at_least(row_stop, place)
        before = _Ends(low, end, row_start, end if stops_behind else self.stop(row_stop, end, first))
        after = _Ends(end, high, end if starts_before else row_start, self.stop(row_stop, high, loop))
        settled = self.settled.items()
        self.limit(
            first,
            before,
            {copies[op]: self.truth(bounds, (low, *lows), (place, high, *highs)) for op, bounds in settled},
        )
        self.limit(loop, after, {op: self.truth(bounds, (place, low, *lows), (high, *highs)) for op, bounds in settled})
        for position, result in enumerate(first.results, 3):  # after its start, end and step
            loop.operands[position] = result
        return _Part(first, lows, (place, *highs)), _Part(loop, (place, *lows), highs)

    def limit(self, loop: tile.LoopOp, ends: _Ends, truths: Mapping[Operation, bool | None]) -> None:
        """Gives a loop other ends, and settles the conditions that are true or false between them."""
        axis, kernel = loop.axis, loop.parent_op()
        assert axis is not None and kernel is not None
        order: dict[SSAValue, int] = {result: n for n, op in enumerate(operations(kernel)) for result in op.results}
        for op, truth in truths.items():
            if not self.stops_with_loop and is_own_stop(op, loop, axis.result):
                op.operands[0] = ends.high if op.operands[0] is loop.ub else ends.row_stop
            elif truth is not None:
                settle(op, truth, order)
        if self.stops_with_loop:
            axis.operands[1] = ends.high
        loop.operands = [ends.low, ends.high, *loop.operands[2:-2], ends.row_start, ends.row_stop]

    def stop(self, row_stop: SSAValue, end: SSAValue, anchor: Operation) -> SSAValue:
        """Where rows' own keys stop in a loop: where the last tile ends behind it, not behind the loop's end."""
        if self.stops_with_loop or self.at_least(end, row_stop):
            return row_stop
        return insert_before(anchor, arith.MinSIOp(row_stop, end), "row_stop")

    def between(self, place: SSAValue, low: SSAValue, high: SSAValue, anchor: Operation) -> SSAValue:
        """The place, or the end of the loop that it lies beyond."""
        name = f"{self.axis.variable.data}_cut"
        end = place
        if not self.at_least(place, low):
            end = insert_before(anchor, arith.MaxSIOp(place, low), name)
        if not self.at_least(high, place):
            end = insert_before(anchor, arith.MinSIOp(end, high), name)
        return end

    def truth(self, bounds: Bounds, lows: Sequence[SSAValue], highs: Sequence[SSAValue]) -> bool | None:
        """What a condition is at all keys that are at least each of `lows` and below each of `highs`."""
        lower, upper = bounds
        above = lower is None or any(self.at_least(low, lower) for low in lows)
        if above and (upper is None or any(self.at_least(upper, high) for high in highs)):
            return True
        ended = upper is not None and any(self.at_least(low, upper) for low in lows)
        return False if ended or (lower is not None and any(self.at_least(lower, h) for h in highs)) else None

    def at_least(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether one integer can be seen to be at least another."""
        return is_at_least(value, other, self.facts)
