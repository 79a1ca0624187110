"""canonicalize: simpler operations of the same meaning, constants computed.

Why: what follows matches few forms. A condition that is always true, a select that always takes one side, a product
with 1 would hide an index map or keep a mask alive.

Before:

    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %zero = arith.constant 0 : index
      %true = arith.constant true
      %i = attn.each "i" to %M
      %i0 = arith.addi %i, %zero : index
      %x = spec.to_float %i0 : f32
      %inside = arith.cmpi slt, %i, %M : index
      %both = arith.andi %inside, %true : i1
      attn.write @o[%i0] = %x where %both : f32
    }

After:

    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %i = attn.each "i" to %M
      %x = spec.to_float %i : f32
      %inside = arith.cmpi slt, %i, %M : index
      attn.write @o[%i] = %x where %inside : f32
    }

Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.checking.numbers import wrap
from attndsl.ir import attn, spec, tile
from attndsl.ir.analyses.stored import is_carried
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.broadcast import keep_axes
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import COMPARISONS, OPPOSITES, POINTWISE, predicate
from attndsl.ir.rewrite import Row, constant, constant_op, guarded, index_constant, rewrite, uniform
from attndsl.ir.xdsl import (
    AnyFloat,
    Context,
    IRDLOperation,
    ModuleOp,
    ModulePass,
    Operation,
    PatternRewriter,
    RewritePattern,
    SSAValue,
    arith,
    f64,
    i1,
    op_type_rewrite_pattern,
)

ON_INTEGERS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: lambda a, b: wrap(a + b),
    arith.SubiOp: lambda a, b: wrap(a - b),
    arith.MuliOp: lambda a, b: wrap(a * b),
    arith.FloorDivSIOp: lambda a, b: wrap(a // b) if b else None,
    spec.ModOp: lambda a, b: a % b if b else None,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor,
    arith.ShLIOp: lambda a, b: wrap(a << b) if 0 <= b < 64 else None,
    arith.ShRSIOp: lambda a, b: a >> b if 0 <= b < 64 else None,
    spec.ToFloatOp: float,
}
"""What is computed of constant integers, wrapping. Real numbers are computed as `meaning` has them."""

RIGHT_IDENTITIES: dict[type[Operation], int | float] = {
    arith.AddiOp: 0,
    arith.SubiOp: 0,
    arith.MuliOp: 1,
    arith.FloorDivSIOp: 1,
    arith.ShLIOp: 0,
    arith.ShRSIOp: 0,
    arith.MulfOp: 1.0,
    arith.DivfOp: 1.0,
    arith.SubfOp: 0.0,
}
"""x op identity -> x. (x + 0.0 is not among them: it turns -0.0 into 0.0.)"""

COMMUTATIVE = (arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MulfOp)

GUARDED = tuple(
    kind
    for dialect in (attn.ATTN, tile.TILE)
    for kind in dialect.operations
    if issubclass(kind, IRDLOperation) and "where" in dict(kind.get_irdl_definition().operands)
)
"""The operations that may have an operand `where`."""


class FoldConstants(RewritePattern):
    """op(constants) -> constant

    Real numbers are computed in their own type, as one step of a program would be.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        operands = op.operands
        if not operands or any(type(operand.owner) is not arith.ConstantOp for operand in operands):
            return
        values = [constant(operand) for operand in operands]
        fold = self._fold(op)
        reals = [np.float64 if operand.type == f64 else np.float32 for operand in operands]
        typed = [r(v) if isinstance(v, float) else v for r, v in zip(reals, values, strict=True)]
        with np.errstate(all="ignore"):
            result = fold(*typed) if fold is not None else None
        # What is not a number is left to the target.
        if result is None or result != result:
            return
        rewriter.replace(op, constant_op(result, op.results[0].type))

    def _fold(self, op: Operation) -> Callable[..., Any] | None:
        if isinstance(op, (arith.CmpiOp, arith.CmpfOp)):
            return COMPARISONS[predicate(op)]
        if type(op) in POINTWISE and isinstance(op.results[0].type, AnyFloat) and not isinstance(op, arith.SelectOp):
            return POINTWISE[type(op)]
        return ON_INTEGERS.get(type(op))


class ConstantsLast(RewritePattern):
    """constant op x -> x op constant, for commutative op"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, COMMUTATIVE)
        if constant(op.lhs) is not None and constant(op.rhs) is None:
            rewriter.replace(op, type(op)(op.rhs, op.lhs))


class DropIdentities(RewritePattern):
    """x + 0 -> x, x * 1 -> x, and the like"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if constant(op.operands[1]) == RIGHT_IDENTITIES[type(op)]:
            rewriter.replace(op, [], [op.operands[0]])


class MultiplyByPowers(RewritePattern):
    """x / 8.0 -> x * 0.125: the reciprocal of a power of two is exact, and a product is the cheaper of the two"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.DivfOp, rewriter: PatternRewriter, /) -> None:
        divisor = constant(op.rhs)
        # Up to 2^100 both are normal numbers of f32, whatever the type.
        if divisor is None or not 2.0**-100 <= abs(divisor) <= 2.0**100 or abs(math.frexp(divisor)[0]) != 0.5:
            return
        reciprocal = constant_op(1 / divisor, op.result.type)
        rewriter.insert(reciprocal)
        rewriter.replace(op, arith.MulfOp(op.lhs, reciprocal.result))


class AddConstantsOnce(RewritePattern):
    """(x + 3) - 1 -> x + 2, (x - 3) + 1 -> x - 2, and so on, for integers"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, (arith.AddiOp, arith.SubiOp))
        inner = op.lhs.owner
        if not isinstance(inner, (arith.AddiOp, arith.SubiOp)):
            return
        first, second = constant(inner.rhs), constant(op.rhs)
        if first is None or second is None:
            return
        total = wrap(
            int(first if isinstance(inner, arith.AddiOp) else -first)
            + int(second if isinstance(op, arith.AddiOp) else -second)
        )
        amount = index_constant(wrap(abs(total)))
        combine = arith.AddiOp if total >= 0 else arith.SubiOp
        rewriter.insert(amount)
        rewriter.replace(op, combine(inner.lhs, amount.result))


class AbsorbZero(RewritePattern):
    """x * 0 -> 0, x - x -> 0, x % 1 -> 0, for integers"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        lhs, rhs = op.operands
        if lhs is rhs if type(op) is arith.SubiOp else constant(rhs) == (0 if type(op) is arith.MuliOp else 1):
            rewriter.replace(op, constant_op(0, op.results[0].type))


Term = SSAValue | tuple[SSAValue, SSAValue, str]
"""A condition: a comparison of integers by its operands and its predicate, or whatever else is true or false."""


def _term(value: SSAValue) -> Term:
    op = value.owner
    return (op.lhs, op.rhs, predicate(op)) if isinstance(op, arith.CmpiOp) else value


def _opposite(term: Term) -> Term | None:
    """The comparison of the same operands that holds where another does not."""
    if not isinstance(term, tuple) or (other := OPPOSITES.get(term[2])) is None:
        return None
    return (term[0], term[1], other)


class Conjunctions:
    """The conditions that a conjunction, or a disjunction, joins: remembered for each value.

    A guard of nested reads holds those of all reads before it: walked through anew at each step they would be looked
    at a quadratic number of times. Rewriting an operand leaves what is remembered true but not whole, so that it is
    forgotten between walks: the last walk changes nothing and has seen everything.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[SSAValue, type[Operation]], frozenset[Term]] = {}

    def __call__(self, value: SSAValue, kind: type[arith.AndIOp] | type[arith.OrIOp]) -> frozenset[Term]:
        """The terms of a value: itself where it joins nothing."""
        stack = [value]
        while stack:
            joined = stack[-1]
            parts = joined.owner.operands if isinstance(joined.owner, kind) else ()
            waiting = [part for part in parts if (part, kind) not in self._known]
            stack += waiting
            if not waiting:
                of_parts = (self._known[part, kind] for part in parts)
                self._known[joined, kind] = frozenset().union(*of_parts) if parts else frozenset({_term(joined)})
                stack.pop()
        return self._known[value, kind]

    def forget(self) -> None:
        """Begins anew."""
        self._known.clear()


@dataclass(frozen=True)
class SimplifyLogic(RewritePattern):
    """x and true -> x, x and false -> false, x and (x and y) -> x and y, x and not x -> false; likewise or

    And not not x -> x.
    """

    conjunctions: Conjunctions

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, (arith.AndIOp, arith.OrIOp, arith.XOrIOp))
        if op.result.type != i1:
            return
        other = uniform(op.rhs)
        if isinstance(op, arith.XOrIOp):
            inner = op.lhs.owner
            if other is False:
                rewriter.replace(op, [], [op.lhs])
            elif other is True and isinstance(inner, arith.XOrIOp) and uniform(inner.rhs) is True:
                rewriter.replace(op, [], [inner.lhs])
            elif other is True and (known := uniform(op.lhs)) is not None:
                rewriter.replace(op, constant_op(not known, i1))
            return
        neutral, known = isinstance(op, arith.AndIOp), uniform(op.lhs)
        left, right = (self.conjunctions(operand, type(op)) for operand in (op.lhs, op.rhs))
        small, large = sorted((left, right), key=len)
        if right <= left or other is neutral or known is (not neutral):
            rewriter.replace(op, [], [op.lhs])
        elif left <= right or known is neutral or other is (not neutral):
            rewriter.replace(op, [], [op.rhs])
        elif not large.isdisjoint(map(_opposite, small)):
            rewriter.replace(op, constant_op(not neutral, i1))


class SimplifySelect(RewritePattern):
    """select true, a, b -> a; select c, a, a -> a; select c, a, false -> c and a; select c, a, true -> not c or a

    In the arms, the condition itself is replaced by true or false, its negation by the other.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SelectOp, rewriter: PatternRewriter, /) -> None:
        condition = uniform(op.cond)
        if condition is not None:
            rewriter.replace(op, [], [op.lhs if condition else op.rhs])
        elif op.lhs is op.rhs:
            rewriter.replace(op, [], [op.lhs])
        elif op.result.type == i1:
            self._logic(op, rewriter)

    def _logic(self, op: arith.SelectOp, rewriter: PatternRewriter) -> None:
        opposite = _opposite(_term(op.cond))
        then = op.lhs is op.cond or (False if _term(op.lhs) == opposite else uniform(op.lhs))
        otherwise = _term(op.rhs) == opposite or (False if op.rhs is op.cond else uniform(op.rhs))
        if otherwise is False:
            rewriter.replace(op, arith.AndIOp(op.cond, op.lhs))
        elif then is True:
            rewriter.replace(op, arith.OrIOp(op.cond, op.rhs))
        elif otherwise is True or then is False:
            true = constant_op(True, i1)
            negated = arith.XOrIOp(op.cond, true)
            combined = (arith.OrIOp if otherwise is True else arith.AndIOp)(
                negated, op.lhs if otherwise is True else op.rhs
            )
            rewriter.replace(op, [true, negated, combined])


@dataclass(frozen=True)
class DropGuardedSelect(RewritePattern):
    """select c, (load where c and d), 0 -> load where c and d; likewise select (c or e), of the same load"""

    conjunctions: Conjunctions

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SelectOp, rewriter: PatternRewriter, /) -> None:
        load = op.lhs.owner
        if not isinstance(load, (attn.ReadOp, tile.LoadOp)) or load.where is None or uniform(op.rhs) != 0:
            return
        known = self.conjunctions(load.where, arith.AndIOp)
        if self.conjunctions(op.cond, arith.AndIOp) <= known or all(self._holds(c, known) for c in conjuncts(op.cond)):
            rewriter.replace(op, [], [op.lhs])

    def _holds(self, condition: SSAValue, known: frozenset[Term]) -> bool:
        """Whether a condition holds where all that is `known` does: it is a part of that, or one of its terms is."""
        terms = condition.owner.operands if isinstance(condition.owner, arith.OrIOp) else (condition,)
        return any(self.conjunctions(term, arith.AndIOp) <= known for term in terms)


@dataclass(frozen=True)
class UniformAll(RewritePattern):
    """all x over d -> x or d has no values, where x does not depend on d"""

    axes: AxesAnalysis

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: attn.AllOp, rewriter: PatternRewriter, /) -> None:
        axis = op.over.owner
        if not isinstance(axis, attn.AxisOp) or op.over in self.axes(op.body):
            return
        zero = index_constant(0)
        empty = arith.CmpiOp(axis.extent, zero.result, "sle")
        rewriter.replace(op, [zero, empty, arith.OrIOp(op.body, empty.result)])


class DropTrueGuards(RewritePattern):
    """where true -> (nothing)"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        where: SSAValue | None = op.where  # type: ignore[attr-defined]
        if where is not None and uniform(where) is True:
            rewriter.replace(op, guarded(op, None))


class DropFalseReads(RewritePattern):
    """read where false -> 0, but where a loop starts with it, which carries what memory holds"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, (attn.ReadOp, tile.LoadOp))
        if op.where is not None and uniform(op.where) is False and not is_carried(op.result):
            rewriter.replace(op, constant_op(0, op.result.type))


class DropTrueAssumptions(RewritePattern):
    """assume true -> (nothing)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: spec.AssumeOp, rewriter: PatternRewriter, /) -> None:
        if constant(op.condition) is True:
            rewriter.erase(op)


class FoldAll(RewritePattern):
    """all true over d -> true; all false over j -> false, where j is an axis that is never empty"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, (attn.AllOp, tile.AllOp))
        known = uniform(op.body)
        if known is True or (known is False and _has_values(op.over)):
            rewriter.replace(op, constant_op(known, i1))


def _has_values(axis: SSAValue) -> bool:
    """Whether an axis stops as far behind its start as its size says."""
    op = axis.owner
    if not isinstance(op, tile.RangeOp) or not isinstance(op.stop.owner, arith.AddiOp):
        return False
    return set(op.stop.owner.operands) == {op.start, op.size}


@dataclass(frozen=True)
class SumThinDots(RewritePattern):
    """dot a, b over j -> sum a * b over j, where a or b became simpler than to vary along an axis of its own

    A rewrite only takes axes away, so that those found before it hide no axis that is there.
    """

    axes: AxesAnalysis

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tile.DotOp, rewriter: PatternRewriter, /) -> None:
        _, left, right = op.sides(self.axes)
        if left and right:
            return
        product = arith.MulfOp(op.lhs, op.rhs)
        terms: Operation = product
        made: list[Operation] = [product]
        if op.where is not None:
            zero = constant_op(0.0, op.result.type)
            terms = arith.SelectOp(op.where, product.result, zero.result)
            made += [zero, terms]
        rewriter.replace(op, [*made, tile.SumOp(terms.results[0], op.over)])


def _rows(conjunctions: Conjunctions, axes: AxesAnalysis) -> tuple[Row, ...]:
    return (
        ((arith.CmpiOp, arith.CmpfOp, *POINTWISE, *ON_INTEGERS), FoldConstants()),
        (COMMUTATIVE, ConstantsLast()),
        (RIGHT_IDENTITIES, DropIdentities()),
        ((arith.DivfOp,), MultiplyByPowers()),
        ((arith.AddiOp, arith.SubiOp), AddConstantsOnce()),
        ((arith.MuliOp, arith.SubiOp, spec.ModOp), AbsorbZero()),
        ((arith.AndIOp, arith.OrIOp, arith.XOrIOp), SimplifyLogic(conjunctions)),
        ((arith.SelectOp,), SimplifySelect()),
        ((arith.SelectOp,), DropGuardedSelect(conjunctions)),
        ((attn.AllOp,), UniformAll(axes)),
        (GUARDED, DropTrueGuards()),
        ((attn.ReadOp, tile.LoadOp), DropFalseReads()),
        ((spec.AssumeOp,), DropTrueAssumptions()),
        ((attn.AllOp, tile.AllOp), FoldAll()),
        ((tile.DotOp,), SumThinDots(axes)),
    )


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Applies the patterns of this file until none matches, removes what is dead, and keeps the axes of the rest."""

    name = "canonicalize"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conjunctions, axes = Conjunctions(), AxesAnalysis()

        def forget() -> None:
            conjunctions.forget()
            axes.forget()

        rewrite(op, _rows(conjunctions, axes), forget)
        keep_axes(op, axes)
