"""factor-scores: what all keys of a row have in common stays out of its scores, until these become weights.

Why: a factor or a term that all keys of a row share is an instruction for each score, where one for each row does. Of
scores c x + t, with c > 0, the largest is c max(x) + t, and a weight is 2^(c x - (m - t)): the product joins the
subtraction. A linear bias is such a term in disguise (Press, Smith and Lewis, "Train Short, Test Long", 2021): a row is
so far from a tile's first key, which is one number for all keys of the tile, and a key so far from that, which is one
for all rows and tiles. On an H200, with roles, causal ALiBi took 0.84 of the time (128 features; 64: 0.81; without
roles 1.00 and 0.86), a cap of scores 0.95 to 0.98 (without 1.02 to 1.06).

Before:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @y "input" "f32" ["N", "16"]
    spec.tensor @o "output" "f32" ["M", "16"]
    spec.parameter @slope f32
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %none = arith.constant 0.000000e+00 : f32
      %low = arith.constant 0xff800000 : f32
      %half = arith.constant 5.000000e-01 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %slope = spec.param "slope" : f32
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %zero to %rows size %rows
      %m = tile.broadcast %low over(%i) : f32 to f32
      %acc = tile.broadcast %none over(%i, %d) : f32 to f32
      %last, %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m, %acc_1 = %acc) -> (f32, f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %v = tile.load @x[%i, %j] : f32
        %s = arith.mulf %v, %half : f32
        %distance = arith.subi %i, %j : index
        %far = spec.to_float %distance : f32
        %bias = arith.mulf %far, %slope : f32
        %score = arith.subf %s, %bias : f32
        %t = tile.max %score over %j : f32 to f32
        %m_new = arith.maximumf %m_1, %t : f32
        %less = arith.subf %score, %m_new : f32
        %p = math.exp2 %less : f32
        %y = tile.load @y[%j, %d] : f32
        %part = tile.dot %p, %y over %j : f32
        %old = arith.subf %m_1, %m_new : f32
        %alpha = math.exp2 %old : f32
        %kept = arith.mulf %acc_1, %alpha : f32
        %acc_2 = arith.addf %kept, %part : f32
        tile.yield %m_new, %acc_2 : f32, f32
      }
      tile.store @o[%i, %d] = %sum : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @y "input" "f32" ["N", "16"]
    spec.tensor @o "output" "f32" ["M", "16"]
    spec.parameter @slope f32
    tile.kernel @k {
      %rows = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %none = arith.constant 0.000000e+00 : f32
      %low = arith.constant 0xff800000 : f32
      %half = arith.constant 5.000000e-01 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %slope = spec.param "slope" : f32
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %zero to %rows size %rows
      %m = tile.broadcast %low over(%i) : f32 to f32
      %acc = tile.broadcast %none over(%i, %d) : f32 to f32
      %scale = arith.divf %slope, %half : f32
      %last, %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%m_1 = %m, %acc_1 = %acc) -> (f32, f32) {
        %j = tile.range "j" from %j0 to %N size %rows
        %v = tile.load @x[%i, %j] : f32
        %0 = arith.subi %j, %j0 : index
        %1 = spec.to_float %0 : f32
        %2 = arith.mulf %1, %scale : f32
        %score = arith.addf %v, %2 : f32
        %3 = arith.subi %i, %j0 : index
        %4 = spec.to_float %3 : f32
        %5 = arith.mulf %4, %slope : f32
        %6 = arith.negf %5 : f32
        %7 = tile.max %score over %j : f32 to f32
        %8 = arith.mulf %7, %half : f32
        %t = arith.addf %8, %6 : f32
        %m_new = arith.maximumf %m_1, %t : f32
        %9 = arith.subf %m_new, %6 : f32
        %shift = arith.maximumf %9, %8 : f32
        %10 = arith.mulf %score, %half : f32
        %less = arith.subf %10, %shift : f32
        %p = math.exp2 %less : f32
        %y = tile.load @y[%j, %d] : f32
        %part = tile.dot %p, %y over %j : f32
        %old = arith.subf %m_1, %m_new : f32
        %alpha = math.exp2 %old : f32
        %kept = arith.mulf %acc_1, %alpha : f32
        %acc_2 = arith.addf %kept, %part : f32
        tile.yield %m_new, %acc_2 : f32, f32
      }
      tile.store @o[%i, %d] = %sum : f32
    }

A cap, `c tanh(x / c)`, is a factor whose sign no compiler knows: an odd function gives it to what it is of, and what is
left is not negative. What a row does not see is minus infinity, which no factor may make a NaN: it is no less than the
least normal number.

A slope is divided by a factor that is known and of moderate size alone: a capped score of next to nothing beside a
distance would send that beyond all floats. And weights are those of a product: where a row sees no key, and its term is
no number or beyond floats, its sums are no numbers either, and are computed key by key.

Requires: gather-scales, which makes one factor of several. Ensures: scores that go elsewhere than to a maximum and to a
difference with a number of their row are as they were. Exactness: reassociates what scores are made of. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant, constant_op, copy_at, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Attribute, Context, ModuleOp, ModulePass, Operation, SSAValue, arith, math

ODD = (math.TanhOp, math.ErfOp, math.SinOp)
"""Functions f with f(-x) = -f(x)."""

LEAST_SCALE = 2.0**-126
"""The least normal number of f32: minus infinity times it is minus infinity, and a capped score next to nothing."""

USUAL_SCALES = 2.0**-32, 2.0**32
"""Factors by which a slope may be divided: by a smaller one it would leave the range of floats within a tile."""

Signed = tuple[SSAValue, bool]
"""A term of a sum, and whether it is subtracted."""


@dataclass(frozen=True)
class FactorScores(ModulePass):
    """Takes what the keys of a row have in common out of the scores of every loop over tiles."""

    name = "factor-scores"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [o for o in op.body.block.ops if isinstance(o, tile.KernelOp)]:
            facts = Facts(kernel.body.block)
            for loop in of_kind(kernel, tile.LoopOp):
                if (keys := loop.axis) is not None:
                    scores = _Scores(loop, keys, AxesAnalysis(), facts)
                    for largest in [o for o in loop.body.block.ops if isinstance(o, tile.MaxOp)]:
                        scores.factor(largest)
        remove_dead(op)


@dataclass(frozen=True)
class _Away:
    """A term `factor * to_float(distance)`; the distance falls, or grows, by one from key to key."""

    distance: SSAValue
    factors: tuple[SSAValue, ...]
    negative: bool
    falls: bool


@dataclass(frozen=True)
class _Scores:
    """The scores of a loop over tiles of keys."""

    loop: tile.LoopOp
    keys: tile.RangeOp
    axes: AxesAnalysis
    facts: Facts

    def factor(self, largest: tile.MaxOp) -> None:
        """Takes what is common out of the scores that a maximum is of, where they become weights and nothing else."""
        seen = largest.body
        exponents = [use.operation for use in seen.uses if use.operation is not largest]
        select = seen.owner if isinstance(seen.owner, arith.SelectOp) and constant(seen.owner.rhs) == -inf else None
        whole = seen if select is None else select.lhs
        at = whole.owner
        if largest.over is not self.keys.result or not exponents or not isinstance(at, Operation):
            return
        if not all(_is_exponent(op, largest) and self.is_summed(op) for op in exponents):
            return
        if select is not None and not whole.has_one_use():
            return
        common, distances, others = list[Signed](), list[_Away](), list[Signed]()
        for value, negative in _terms(whole):
            if self.is_common(value):
                common.append((value, negative))
            elif (found := self.distance(value, negative)) is not None:
                distances.append(found)
            else:
                others.append((value, negative))
        scaled = self.scaled(others[0], bool(distances), at) if len(others) == 1 else None
        if not others or not (scaled or common or distances):
            return
        score, scale = scaled or (_sum(others, at), None)
        for each in distances:
            score = self.with_place(score, each, scale, at)
            common.append((self.of_first_key(each, score.type, at), each.negative))
        score.name_hint = score.name_hint or whole.name_hint
        if select is not None:
            score = insert_before(select, arith.SelectOp(select.cond, score, select.rhs), seen.name_hint)
        _write(largest, exponents, score, scale, _sum(common, at) if common else None)

    def is_summed(self, exponent: Operation) -> bool:
        """Whether weights are summed up by a product: what is no number there is found, and computed key by key.

        A row that sees no key may have a term in common that is no number, or a distance beyond all floats.
        """
        waiting, known = [exponent], {exponent}
        while waiting:
            users = {use.operation for result in waiting.pop().results for use in result.uses} - known
            if any(isinstance(op, tile.DotOp) and op.over is self.keys.result for op in users):
                return True
            known |= users
            waiting += [op for op in users if op.results and self.keys.result in self.axes(op.results[0])]
        return False

    def is_common(self, value: SSAValue) -> bool:
        """Whether all keys of a row have a number in common."""
        return self.keys.result not in self.axes(value)

    def is_before(self, value: SSAValue) -> bool:
        """Whether a number that all keys have in common is there before the loop."""
        return self.is_common(value) and not self.loop.is_ancestor(value.owner)

    def distance(self, value: SSAValue, negative: bool) -> _Away | None:
        """A term as a distance, times what is there before the loop."""
        factors = list(_factors(value))
        places = [factor for factor in factors if not self.is_before(factor)]
        if len(places) != 1 or not isinstance(places[0].owner, spec.ToFloatOp):
            return None
        distance = places[0].owner.operand
        polynomial = self.facts.of(distance)
        steps = polynomial.get((self.keys.result,), 0)
        rest = [v for monomial in polynomial if monomial != (self.keys.result,) for v in monomial]
        from_first = {(self.keys.result,): steps, (self.keys.start,): -steps}  # nothing is left to take out
        if abs(steps) != 1 or not all(map(self.is_common, rest)) or polynomial == from_first:
            return None
        return _Away(distance, tuple(f for f in factors if f is not places[0]), negative, steps < 0)

    def scaled(self, term: Signed, divides: bool, at: Operation) -> tuple[SSAValue, SSAValue] | None:
        """A term without the factor that no key changes, and that factor, which is positive.

        Where it `divides` slopes it is a number that is known, and neither large nor small.
        """
        value, negative = term
        op = value.owner
        if negative or not isinstance(op, arith.MulfOp) or not self.is_scale(op.rhs):
            return None
        least, most = USUAL_SCALES
        if least <= (constant(op.rhs) or 0) <= most:
            return op.lhs, op.rhs
        function = op.lhs.owner
        if divides or not isinstance(function, ODD) or not op.lhs.has_one_use():
            return None
        inner = function.operands[0].owner
        if not isinstance(inner, arith.MulfOp) or not self.is_scale(inner.rhs):
            return None
        type_ = value.type
        below = self.before(arith.CmpfOp(op.rhs, self.before(constant_op(0.0, type_)), "olt"))
        turned = self.before(arith.SelectOp(below, self.before(arith.NegfOp(inner.rhs)), inner.rhs), "scale")
        normal = self.before(constant_op(LEAST_SCALE, type_))
        scale = self.before(arith.MaximumfOp(self.before(math.AbsFOp(op.rhs)), normal), "scale")
        product = insert_before(at, arith.MulfOp(inner.lhs, turned))
        return insert_before(at, function.clone({inner.result: product})), scale

    def is_scale(self, value: SSAValue) -> bool:
        """Whether a number is the same for all rows and keys."""
        return self.is_before(value) and not self.axes(value)

    def with_place(self, score: SSAValue, each: _Away, scale: SSAValue | None, at: Operation) -> SSAValue:
        """Scores, and how much farther away a key is than the tile's first; both are multiplied with `scale` later."""
        place = insert_before(at, arith.SubiOp(self.keys.result, self.keys.start))
        term = insert_before(at, spec.ToFloatOp(place, score.type))
        factor = self.product(each.factors)
        if scale is not None:
            factor = factor if factor is not None else self.before(constant_op(1.0, score.type))
            factor = self.before(arith.DivfOp(factor, scale), "scale")
        if factor is not None:
            term = insert_before(at, arith.MulfOp(term, factor))
        return insert_before(at, (arith.SubfOp if each.falls != each.negative else arith.AddfOp)(score, term))

    def of_first_key(self, each: _Away, type_: Attribute, at: Operation) -> SSAValue:
        """What a term is at a tile's first key."""
        first = copy_at(each.distance, {self.keys.result: self.keys.start}, self.keys.result, self.axes, at)
        term, factor = insert_before(at, spec.ToFloatOp(first, type_)), self.product(each.factors)
        return term if factor is None else insert_before(at, arith.MulfOp(term, factor))

    def product(self, factors: Sequence[SSAValue]) -> SSAValue | None:
        """The product of what is there before the loop, None where there is nothing."""
        return reduce(lambda a, b: self.before(arith.MulfOp(a, b), "scale"), factors) if factors else None

    def before(self, op: Operation, name: str | None = None) -> SSAValue:
        """Puts an operation before the loop."""
        return insert_before(self.loop, op, name)


def _terms(value: SSAValue, negative: bool = False, inner: bool = False) -> Iterator[Signed]:
    """What a number is the sum of, as far as its parts go nowhere else."""
    op = value.owner
    if isinstance(op, arith.AddfOp | arith.SubfOp) and (value.has_one_use() or not inner):
        yield from _terms(op.lhs, negative, True)
        yield from _terms(op.rhs, negative != isinstance(op, arith.SubfOp), True)
    else:
        yield value, negative


def _factors(value: SSAValue) -> Iterator[SSAValue]:
    """What a number is the product of, as far as its parts go nowhere else."""
    op = value.owner
    if isinstance(op, arith.MulfOp) and value.has_one_use():
        yield from _factors(op.lhs)
        yield from _factors(op.rhs)
    else:
        yield value


def _sum(terms: Sequence[Signed], at: Operation) -> SSAValue:
    """The sum of terms, some of which are subtracted."""
    (total, negative), *others = terms
    if negative:
        total = insert_before(at, arith.NegfOp(total))
    for value, negative in others:
        total = insert_before(at, (arith.SubfOp if negative else arith.AddfOp)(total, value))
    return total


def _is_exponent(op: Operation, largest: tile.MaxOp) -> bool:
    """Whether an operation takes a maximum that a tile's largest is part of, or 0 where there is none, off scores."""
    if not isinstance(op, arith.SubfOp) or op.lhs is not largest.body:
        return False
    shift = op.rhs.owner
    if isinstance(shift, arith.SelectOp) and constant(shift.lhs) == 0:
        nothing = shift.cond.owner
        if not isinstance(nothing, arith.CmpfOp) or predicate(nothing) != "oeq" or nothing.lhs is not shift.rhs:
            return False
        shift = shift.rhs.owner
    return isinstance(shift, arith.MaximumfOp) and largest.result in shift.operands


def _write(
    largest: tile.MaxOp,
    exponents: Sequence[arith.SubfOp],
    score: SSAValue,
    scale: SSAValue | None,
    apart: SSAValue | None,
) -> None:
    """Makes the largest of `score * scale + apart`, and what it is taken off, of these parts."""

    def scaled(value: SSAValue, anchor: Operation) -> SSAValue:
        return value if scale is None else insert_before(anchor, arith.MulfOp(value, scale))

    found = scaled(insert_before(largest, tile.MaxOp(score, largest.over)), largest)
    for each in exponents:
        shift = each.rhs
        if apart is not None:
            # Of large numbers the difference may be rounded below the largest score: no weight is more than 1.
            shift = insert_before(each, arith.SubfOp(shift, apart))
            shift = insert_before(each, arith.MaximumfOp(shift, found), "shift")
        replace(each, [insert_before(each, arith.SubfOp(scaled(score, each), shift))])
    replace(largest, [found if apart is None else insert_before(largest, arith.AddfOp(found, apart))])
