"""Bounds of index variables whose extent a launch cannot tell, from the extents of the tensors that they walk.

An index `a + i` into a dimension of extent X bounds `i` by X, `i - c` by X + c, and `i / c` by X * c. What is read for
certain bounds by the smallest of its extents, the two branches of an `if` by the larger of theirs; several reductions
or several writes, by the largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from attndsl.checking.context import Context
from attndsl.checking.reads import reached
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, Index, IndexValue, Read, Reduce, Write, walk
from attndsl.syntax.source import Span


class _Never:
    """What bounds an expression that is always absent: nothing of it needs a bound."""


_NEVER = _Never()
_Bound = Expr | _Never | None


def infer_bound(context: Context, index: Index, writes: Sequence[Write]) -> Expr | None:
    """An integer expression of dims that `index` stays below in all that matters, None where nothing bounds it."""
    search = _IntervalSearch(context, index)
    if index.role == "over":
        reductions = [e for e in walk(*(w.value for w in writes)) if isinstance(e, Reduce)]
        bounds: list[_Bound] = [search.visit(e) for e in reductions]
    else:
        bounds = []
        for write in writes:
            places = zip(write.indices, write.tensor.extents, strict=True)
            bound = search.smallest(search.walked(place, extent) for place, extent in places)
            bounds.append(search.visit(write.value) if bound is None else bound)
    found = search.largest(bounds)
    return None if isinstance(found, _Never) else found


class _IntervalSearch:
    def __init__(self, context: Context, index: Index) -> None:
        self._context = context
        self._index = index
        self._known: dict[Expr, _Bound] = {}

    def visit(self, expr: Expr) -> _Bound:
        """The bound that an expression gives where it is evaluated."""
        if expr not in self._known:
            self._known[expr] = self._visit(expr)
        return self._known[expr]

    def _visit(self, expr: Expr) -> _Bound:
        bounds: list[_Bound] = [self.visit(operand) for operand in reached(expr)]
        match expr:
            case Apply(operator="idiv", arguments=(_, Constant(value=0))):
                return _NEVER
            case Apply(operator="iselect" | "fselect" | "bselect", arguments=(_, then, otherwise)):
                bounds.append(self.largest([self.visit(then), self.visit(otherwise)]))
            case Read():
                bounds += [self.walked(i, e) for i, e in zip(expr.indices, expr.tensor.extents, strict=True)]
        return self.smallest(bounds)

    def walked(self, expr: Expr, extent: Expr) -> Expr | None:
        """What `0 <= expr < extent` says of the variable."""
        facts, arithmetic = self._context.graph.facts, self._context.arithmetic
        holder: tuple[Expr, int] | None = None
        limit = extent
        for term, count in arithmetic.linear(expr).items():
            if any(self._index in facts(factor).free for factor in term):
                if holder is not None or len(term) != 1 or count <= 0:
                    return None
                holder = term[0], count
            elif count < 0:
                if not all(facts(factor).uniform for factor in term):
                    return None
                limit = arithmetic.add(limit, arithmetic.build({term: -count}, expr.span), expr.span)
        if holder is None:
            return None
        inner, count = holder
        if count > 1:
            limit = arithmetic.add(limit, self._number(count - 1, expr.span), expr.span)
            limit = arithmetic.divide(limit, self._number(count, expr.span), expr.span)
        match inner:
            case IndexValue():
                return limit
            case Apply(operator="idiv", arguments=(numerator, divisor)) if facts(divisor).uniform:
                return self.walked(numerator, arithmetic.multiply(limit, divisor, expr.span))
        return None

    def smallest(self, bounds: Iterable[_Bound]) -> _Bound:
        """The smallest of the bounds that there are."""
        return self._fold("imin", [bound for bound in bounds if bound is not None])

    def largest(self, bounds: Sequence[_Bound]) -> _Bound:
        """The largest of the bounds, none where one is missing."""
        if None in bounds:
            return None
        needed = [bound for bound in bounds if not isinstance(bound, _Never)]
        return self._fold("imax", needed) if needed or not bounds else _NEVER

    def _fold(self, operator: str, bounds: Sequence[_Bound]) -> _Bound:
        if any(isinstance(bound, _Never) for bound in bounds):
            return _NEVER
        graph = self._context.graph
        distinct = dict.fromkeys(bound for bound in bounds if isinstance(bound, Expr))
        ordered = sorted(distinct, key=lambda bound: graph.facts(bound).serial)
        ordered = [b for b in ordered if not any(a is not b and self._beats(operator, a, b) for a in ordered)]
        if not ordered:
            return None
        return reduce(lambda a, b: graph.apply(operator, (a, b), a.span), ordered)

    def _beats(self, operator: str, one: Expr, other: Expr) -> bool:
        """Whether the smaller (or the larger) of two bounds is certainly `one`: dims are not negative."""
        low, high = (one, other) if operator == "imin" else (other, one)
        rest = self._context.arithmetic.linear(self._context.arithmetic.add(high, low, high.span, -1))
        return all(count > 0 and all(isinstance(f, DimValue) for f in term) for term, count in rest.items())

    def _number(self, value: int, span: Span) -> Expr:
        return self._context.graph.constant(value, span)
