"""skip-maxima: a softmax takes no maximum off its scores, and folds its keys again, as usual, where sums forbid that.

Why: a maximum keeps powers of scores in the range of a float, and nearly all scores are such that nothing has to. It
costs a look at each score, a subtraction, and factors for what a loop carries. The sum of the weights tells afterwards
whether it was needed: it is too large, too small, or NaN.

Before:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %m0 = tile.broadcast %low over (%i) : f32 to f32
      %l0 = tile.broadcast %none over (%i) : f32 to f32
      %m, %l = tile.loop %j0 = %zero to %N step %size iter_args(%m1 = %m0, %l1 = %l0) -> (f32, f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %s = tile.load @s[%i, %j] : f32
        %largest = tile.max %s over %j : f32 to f32
        %m2 = arith.maximumf %m1, %largest : f32
        %nothing = arith.cmpf oeq, %m2, %low : f32
        %shift = arith.select %nothing, %none, %m2 : f32
        %x = arith.subf %s, %shift : f32
        %p = math.exp %x : f32
        %change = arith.subf %m1, %shift : f32
        %alpha = math.exp %change : f32
        %sum = tile.sum %p over %j : f32 to f32
        %scaled = arith.mulf %l1, %alpha : f32
        %l2 = arith.addf %scaled, %sum : f32
        tile.yield %m2, %l2 : f32, f32
      }
      %log = math.log %l : f32
      %lse = arith.addf %m, %log : f32
      tile.store @o[%i] = %lse : f32
    }

After:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %size = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %l0 = tile.broadcast %none over (%i) : f32 to f32
      %plain = tile.loop %j0 = %zero to %N step %size iter_args(%l1 = %l0) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %s = tile.load @s[%i, %j] : f32
        %p = math.exp %s : f32
        %sum = tile.sum %p over %j : f32 to f32
        %l2 = arith.addf %l1, %sum : f32
        tile.yield %l2 : f32
      }
      %least = arith.constant 1.0e-06 : f32
      %large = arith.cmpf oge, %plain, %least : f32
      %most = arith.constant 1.0e+30 : f32
      %small = arith.cmpf ole, %plain, %most : f32
      %in_range = arith.andi %large, %small : i1
      %right = tile.all %in_range over %i : i1 to i1
      %true = arith.constant true
      %wrong = arith.xori %right, %true : i1
      %no = arith.constant 0.0 : f32
      %no_maximum = tile.broadcast %no over (%i) : f32 to f32
      %m, %l = scf.if %wrong -> (f32, f32) {
        %m0 = tile.broadcast %low over (%i) : f32 to f32
        %l0_ = tile.broadcast %none over (%i) : f32 to f32
        %m_, %l_ = tile.loop %j0_ = %zero to %N step %size iter_args(%m1 = %m0, %l1_ = %l0_) -> (f32, f32) {
          %j_ = tile.range "j" from %j0_ to %N size %size
          %s_ = tile.load @s[%i, %j_] : f32
          %largest = tile.max %s_ over %j_ : f32 to f32
          %m2 = arith.maximumf %m1, %largest : f32
          %nothing = arith.cmpf oeq, %m2, %low : f32
          %shift = arith.select %nothing, %none, %m2 : f32
          %x = arith.subf %s_, %shift : f32
          %p_ = math.exp %x : f32
          %change = arith.subf %m1, %shift : f32
          %alpha = math.exp %change : f32
          %sum_ = tile.sum %p_ over %j_ : f32 to f32
          %scaled = arith.mulf %l1_, %alpha : f32
          %l2_ = arith.addf %scaled, %sum_ : f32
          tile.yield %m2, %l2_ : f32, f32
        }
        %m_row = arith.select %in_range, %no_maximum, %m_ : f32
        %l_row = arith.select %in_range, %plain, %l_ : f32
        scf.yield %m_row, %l_row : f32, f32
      } else {
        scf.yield %no_maximum, %plain : f32, f32
      }
      %log = math.log %l : f32
      %lse = arith.addf %m, %log : f32
      tile.store @o[%i] = %lse : f32
    }

Which of the two loops a row's numbers are from rests on what that row sees, and on nothing else: neither on other rows,
so on how rows are put together, nor on earlier calls. Of weights whose sum is below 1e-6 some may have been lost to
underflow; where it is above 1e30, the factor that scales it to a larger number may be. Sums of weights times values are
to be finite. Rows without keys, as far as their ends tell, have sums of 0 in either loop. Loops that go on with what
others carry are looked at together, after the last.

Requires: tile, mask-edges. Exactness: reassociates: a factor is taken out of sums, and out of what they are divided by.
Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from attndsl.ir import tile
from attndsl.ir.analyses.online import OnlineState, chains, online_states
from attndsl.ir.analyses.order import is_at_least
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction
from attndsl.ir.monoids import MAX
from attndsl.ir.polynomial import Facts, add, number
from attndsl.ir.rewrite import constant_op, copied, insert_before, remove_dead, replace, terms_before
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, Region, SSAValue, arith, i1, math, scf

LEAST = 1e-6
"""A smaller sum of weights may be of such that underflow: what they lose has to be small beside it."""

MOST = 1e30
"""A larger sum may be close to overflow, which products with values are sooner."""


@dataclass(frozen=True)
class SkipMaxima(ModulePass):
    """Puts loops that fold softmaxes behind such as subtract no maximum, and a look at their sums."""

    name = "skip-maxima"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                for chain in chains(kernel):
                    adds = any(of_kind(loop, tile.StoreOp) for loop in chain)  # what is folded twice would add twice
                    if not adds and (states := online_states(chain)):
                        _skip(chain, states, Facts(kernel.body.block))
        remove_dead(op)


def _skip(chain: Sequence[tile.LoopOp], found: Sequence[Sequence[OnlineState]], facts: Facts) -> None:
    sums: dict[int, SSAValue] = {}
    for part, its in zip(chain, zip(*found, strict=True), strict=True):
        sums = _plain(part, its, sums)
    first, loop, states = chain[0], chain[-1], [its[-1] for its in found]
    has_keys = _has_keys(chain, facts)
    looks = [_look(loop, state, sums, has_keys) for state in states]
    right = conjunction([all_rows for _, all_rows in looks], loop)
    assert right is not None, "a loop is asked for states that it has"
    right.name_hint = "right"
    wrong = insert_before(loop, arith.XOrIOp(right, insert_before(loop, constant_op(True, i1))), "wrong")
    read = [n for n, result in enumerate(loop.results) if result.uses]
    plain = sums | {n: _no_maximum(loop, first.iter_args[n], has_keys) for n in read if n not in sums}
    kept = Block([scf.YieldOp(*(plain[n] for n in read))])
    starts = {start: start.owner.clone() for start in first.iter_args if isinstance(start.owner, tile.BroadcastOp)}
    exact = Block(starts.values())
    choice = scf.IfOp(wrong, [loop.results[n].type for n in read], Region(exact), Region(kept))
    assert loop.parent is not None
    loop.parent.insert_op_before(choice, loop)
    for n, result in zip(read, choice.results, strict=True):
        result.name_hint = loop.results[n].name_hint
        loop.results[n].replace_all_uses_with(result)
    first.operands = [starts[v].result if v in starts else v for v in first.operands]
    moved: list[Operation] = [*chain]
    for each in moved:
        each.detach()
    last = scf.YieldOp(*(loop.results[n] for n in read))
    exact.add_ops([*moved, last])
    for op in (choice, *starts.values(), last, kept.last_op):
        assert op is not None
        op.location = loop.location
    for state, (in_range, _) in zip(states, looks, strict=True):
        _keep_right_rows(last, state, in_range, plain, loop)


def _keep_right_rows(
    last: scf.YieldOp, state: OnlineState, in_range: SSAValue, plain: dict[int, SSAValue], loop: tile.LoopOp
) -> None:
    """Lets rows that were right keep their numbers: no row has others for what another one sees."""
    axes = AxesAnalysis()
    rows = axes(in_range)
    if not rows:
        return
    terms, right = terms_before(last, plain[state.total].type), in_range
    for n in state.sums:
        if n != state.total:
            size = terms.apply(math.AbsFOp, plain[n])
            finite = terms.apply(arith.CmpfOp, size, terms.number(inf), "olt")
            for axis in _in_order(axes(finite) - rows, loop):
                finite = terms.apply(tile.AllOp, finite, axis)
            right = insert_before(last, arith.AndIOp(right, finite), "right")
    places: dict[SSAValue, int] = {loop.results[n]: n for n in (state.maximum, *state.sums)}
    last.operands = [
        terms.apply(arith.SelectOp, right, plain[places[v]], v) if v in places else v for v in last.operands
    ]


def _plain(loop: tile.LoopOp, states: Sequence[OnlineState], before: dict[int, SSAValue]) -> dict[int, SSAValue]:
    """The sums of a loop that subtracts no maximum, and carries none, by their places in the other one.

    It goes on with those `before`, where there are some.
    """
    copies: dict[SSAValue, SSAValue] = {}
    copy = copied(loop, copies)
    arguments = copy.body.block.args[1:]
    for state in states:
        for use in list(copies[state.weight].uses):
            if isinstance(use.operation, tile.WithinOp):
                replace(use.operation, [])
        exponent = copies[state.exponent.result].owner
        assert isinstance(exponent, arith.SubfOp)
        replace(exponent, [exponent.lhs])
        for n in state.sums:
            (rescaled,) = tile.users(arguments[n])
            replace(rescaled, [arguments[n]])
    dropped = {state.maximum for state in states}
    kept = [n for n in range(len(arguments)) if n not in dropped]
    copy.end.operands = [copy.end.values[n] for n in kept]
    remove_dead(copy)
    for n in dropped:
        copy.body.block.erase_arg(arguments[n])
    starts, body = [before.get(n, loop.iter_args[n]) for n in kept], copy.detach_region(copy.body)
    plain = tile.LoopOp(loop.lb, loop.ub, loop.step, starts, body, loop.row_start, loop.row_stop)
    plain.tiles, plain.stages, plain.location = loop.tiles, loop.stages, loop.location
    copy.erase()
    assert loop.parent is not None
    loop.parent.insert_op_before(plain, loop)
    for n, result in zip(kept, plain.results, strict=True):
        result.name_hint = loop.results[n].name_hint
    return dict(zip(kept, plain.results, strict=True))


def _no_maximum(loop: tile.LoopOp, start: SSAValue, has_keys: SSAValue | None) -> SSAValue:
    """What stands for a maximum that was not taken: 0, and that of nothing for rows without keys; like its `start`."""
    terms = terms_before(loop, start.type)
    zero = terms.number(0.0)
    if isinstance(start.owner, tile.BroadcastOp):
        zero = insert_before(loop, tile.BroadcastOp(zero, start.owner.axes), start.name_hint)
    if has_keys is None:
        return zero
    return insert_before(loop, arith.SelectOp(has_keys, zero, terms.number(MAX.empty)), start.name_hint)


def _look(
    loop: tile.LoopOp, state: OnlineState, sums: dict[int, SSAValue], has_keys: SSAValue | None
) -> tuple[SSAValue, SSAValue]:
    """For each row, whether its sum of weights lies in range, or it has no keys; and whether all sums are right."""
    total = least = sums[state.total]
    terms = terms_before(loop, total.type)
    if has_keys is not None:
        least = terms.apply(arith.SelectOp, has_keys, total, terms.number(1.0))
    large = terms.apply(arith.CmpfOp, least, terms.number(LEAST), "oge")
    small = terms.apply(arith.CmpfOp, total, terms.number(MOST), "ole")
    right = in_range = insert_before(loop, arith.AndIOp(large, small), "in_range")
    for axis in _in_order(AxesAnalysis()(in_range), loop):
        right = terms.apply(tile.AllOp, right, axis)
    for n in state.sums:
        if n != state.total:
            right = terms.apply(arith.AndIOp, right, terms.apply(tile.FiniteOp, sums[n]))
    return in_range, right


def _in_order(axes: Axes, loop: tile.LoopOp) -> list[SSAValue]:
    """Axes, the innermost first, so that text does not depend on where objects lie in memory."""
    kernel = tile.kernel_around(loop)
    assert kernel is not None
    return [op.result for op in reversed(operations(kernel)) if isinstance(op, tile.RangeOp) and op.result in axes]


def _has_keys(chain: Sequence[tile.LoopOp], facts: Facts) -> SSAValue | None:
    """Which rows have keys, as far as their ends tell: the sums of others are 0. None where all have, or may."""
    spans: list[tuple[SSAValue, SSAValue]] = []
    for loop in chain:
        start, stop = loop.row_start, loop.row_stop
        first, end = spans[-1] if spans else (None, None)
        if first is not None and end is start and is_at_least(stop, start, facts):
            spans[-1] = (first, stop)
        elif first is None or end is not stop or not is_at_least(start, first, facts):
            spans.append((start, stop))
    axes = AxesAnalysis()
    if not any(axes(end) for span in spans for end in span):
        return None
    has_keys: SSAValue | None = None
    for start, stop in spans:
        distance = add(facts.of(stop), facts.of(start), -1)
        if facts.nonnegative(add(distance, number(1), -1)):
            return None
        some = insert_before(chain[-1], arith.CmpiOp(stop, start, "sgt"))
        has_keys = some if has_keys is None else insert_before(chain[-1], arith.OrIOp(has_keys, some))
    return has_keys
