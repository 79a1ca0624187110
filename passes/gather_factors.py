"""gather-factors: of a product of several tiles, those that are made of the same contractions are multiplied first.

Why: a tile that waits for another contraction lies in registers meanwhile. The gradient of a capped score is
`p * (dp - delta) * (1 - t * t)`, of which `p` and `t` are made of queries and keys, and `dp` of cotangents and values:
with `p * (1 - t * t)` made first, one tile waits for `dp`, and not two. On an H200 the sums of keys and values, of 128
features, have room in registers then for a turn with roles: 2006 µs for 2915.

Before:

    spec.tensor @a "input" "f32" ["M", "16"]
    spec.tensor @x "input" "f32" ["N", "16"]
    spec.tensor @y "input" "f32" ["N", "16"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %zero to %rows size %rows
      %a = tile.load @a[%i, %d] : f32
      %z = tile.broadcast %none over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %rows iter_args(%s = %z) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %x = tile.load @x[%j, %d] : f32
        %y = tile.load @y[%j, %d] : f32
        %p = tile.dot %a, %x over %d : f32
        %q = tile.dot %a, %y over %d : f32
        %w = math.tanh %p : f32
        %pq = arith.mulf %p, %q : f32
        %pqw = arith.mulf %pq, %w : f32
        %sum = tile.sum %pqw over %j : f32 to f32
        %s1 = arith.addf %s, %sum : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @a "input" "f32" ["M", "16"]
    spec.tensor @x "input" "f32" ["N", "16"]
    spec.tensor @y "input" "f32" ["N", "16"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %zero to %rows size %rows
      %a = tile.load @a[%i, %d] : f32
      %z = tile.broadcast %none over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %rows iter_args(%s = %z) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %x = tile.load @x[%j, %d] : f32
        %y = tile.load @y[%j, %d] : f32
        %p = tile.dot %a, %x over %d : f32
        %q = tile.dot %a, %y over %d : f32
        %w = math.tanh %p : f32
        %pw = arith.mulf %p, %w : f32
        %pqw = arith.mulf %pw, %q : f32
        %sum = tile.sum %pqw over %j : f32 to f32
        %s1 = arith.addf %s, %sum : f32
        tile.yield %s1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A product is taken as a whole as far as its parts go nowhere else. It stays as it is where those that belong together
are multiplied first already, and where each is made of contractions of its own. All but one of those that belong
together are bounded by what they are, as `1 - t * t` of a hyperbolic tangent is: a product of two exponentials could
overflow before a third one makes up for it.

Requires: tile. Exactness: reassociates products. Idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from math import inf

from attndsl.ir import tile
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, SSAValue, arith, math

LARGEST = 4.0
"""What is bounded has at most: a product with it leaves the range of floats where the other factor nearly does."""

DEEP = 4
"""How far what a bound is told by lies back: `1 - t * t` is three operations."""

Contractions = dict[SSAValue, frozenset[SSAValue]]
"""By value of a loop's turn: the contractions of the turn that it is made of."""


@dataclass(frozen=True)
class GatherFactors(ModulePass):
    """Multiplies what is made of the same contractions first, in every loop over tiles."""

    name = "gather-factors"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [o for o in of_kind(op, tile.LoopOp) if o.axis is not None]:
            made = _contractions(loop.body.block)
            for each in [o for o in loop.body.block.ops if isinstance(o, arith.MulfOp) and not _is_part(o)]:
                _gather(each, made)
        remove_dead(op)


def _contractions(block: Block) -> Contractions:
    made = Contractions()
    for op in block.ops:
        rests = frozenset[SSAValue]().union(*(made.get(value, frozenset()) for value in op.operands))
        made |= dict.fromkeys(op.results, frozenset(op.results) if isinstance(op, tile.DotOp) else rests)
    return made


def _is_part(op: arith.MulfOp) -> bool:
    """Whether a product is a factor of one other, and goes nowhere else."""
    users = [use.operation for use in op.result.uses]
    return len(users) == 1 and isinstance(users[0], arith.MulfOp) and users[0].parent is op.parent


def _gather(whole: arith.MulfOp, made: Contractions) -> None:
    groups = _by_group(whole, made)
    if len(groups) == 1 or all(len(group) == 1 or _is_multiplied(group, whole) for group in groups):
        return

    def times(left: SSAValue, right: SSAValue) -> SSAValue:
        product = insert_before(whole, arith.MulfOp(left, right), whole.result.name_hint)
        made[product] = made.get(left, frozenset()) | made.get(right, frozenset())
        return product

    parts = [op for op in _parts(whole) if op is not whole]
    replace(whole, [reduce(times, [reduce(times, group) for group in groups])])
    for part in parts:  # a factor is not needed by what is gone
        replace(part, part.operands[:1])


def _by_group(whole: arith.MulfOp, made: Contractions) -> list[list[SSAValue]]:
    """The factors of a product, those together that are made of the same contractions; each that is of none alone.

    Of a group all but one are bounded: a product of others could leave the range of floats where the whole does not.
    """
    groups: dict[frozenset[SSAValue], list[SSAValue]] = {}
    given = list[SSAValue]()
    for each in _factors(whole):
        of = made.get(each, frozenset())
        (groups.setdefault(of, []) if of else given).append(each)
    found = list[list[SSAValue]]()
    for group in groups.values():
        fits = sum(_bound(each) > LARGEST for each in group) <= 1
        found += [group] if fits else [[each] for each in group]
    return [*found, *([each] for each in given)]


def _bound(value: SSAValue, deep: int = DEEP) -> float:
    """What a number is no larger than, but for its sign; infinity where that is not known."""
    if not deep:
        return inf
    match value.owner:
        case math.TanhOp() | math.ErfOp() | math.SinOp() | math.CosOp():
            return 1.0
        case arith.AddfOp() | arith.SubfOp() as op:
            return _bound(op.lhs, deep - 1) + _bound(op.rhs, deep - 1)
        case arith.MulfOp() as op:
            bounds = _bound(op.lhs, deep - 1), _bound(op.rhs, deep - 1)
            return inf if inf in bounds else bounds[0] * bounds[1]
    known = constant(value)
    return inf if known is None else abs(float(known))


def _parts(whole: arith.MulfOp) -> Iterator[arith.MulfOp]:
    """A product, and the products that it is made of, as far as these go nowhere else; the whole first."""
    yield whole
    for value in whole.operands:
        op = value.owner
        if isinstance(op, arith.MulfOp) and _is_part(op):
            yield from _parts(op)


def _factors(whole: arith.MulfOp) -> Iterator[SSAValue]:
    """What a product is made of, as far as its parts go nowhere else."""
    for value in whole.operands:
        op = value.owner
        if isinstance(op, arith.MulfOp) and _is_part(op):
            yield from _factors(op)
        else:
            yield value


def _is_multiplied(group: list[SSAValue], whole: arith.MulfOp) -> bool:
    """Whether some part of a product is that of these factors alone."""
    return any(Counter(_factors(part)) == Counter(group) for part in _parts(whole))
