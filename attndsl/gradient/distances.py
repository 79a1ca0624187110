"""Subscripts that tell of a row and a key only how far apart they are.

A gradient that adds up at such places is summed by distance first: an element for each, of which there are as many as
rows and keys together, and then each distance gives its sum to where the place has it, as T5's buckets do. So of all
pairs of rows and keys none asks data where it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attndsl.checking.typed import Apply, Constant, Expr, Index, IndexValue, Read
from attndsl.gradient.algebra import NOWHERE, Algebra

COMPARISONS = ("ieq", "ine", "ilt", "ile", "igt", "ige")


class _Terms(NamedTuple):
    """A sum of ints: how often it has the row and the key, and all else, each with its sign."""

    row: int
    key: int
    rest: tuple[tuple[int, Expr], ...]

    def plus(self, other: _Terms, sign: int = 1) -> _Terms:
        """With the terms of another sum, or those taken away."""
        rest = tuple((sign * own, term) for own, term in other.rest)
        return _Terms(self.row + sign * other.row, self.key + sign * other.key, (*self.rest, *rest))


def by_distance(
    algebra: Algebra, places: Sequence[Expr], row: Index, key: Index, distance: Expr
) -> tuple[Expr, ...] | None:
    """Places in terms of the distance from a row to a key, `key - row`; None where one rests on more of them."""
    try:
        return tuple(_Distances(algebra, row, key, distance).moved(place) for place in places)
    except _RestsOnMore:
        return None


class _RestsOnMore(ValueError):
    """An expression rests on a row or a key by itself."""


class _Distances:
    """Puts a distance in the place of a row and a key."""

    def __init__(self, algebra: Algebra, row: Index, key: Index, distance: Expr) -> None:
        self.algebra, self.row, self.key, self.distance = algebra, row, key, distance

    def moved(self, expr: Expr) -> Expr:
        """What an expression is of a distance."""
        if self.algebra.free(expr).isdisjoint((self.row, self.key)):
            return expr
        if (terms := self._terms(expr)) is not None:
            return self._sum(terms)
        match expr:
            case Apply(operator=operator, arguments=(left, right)) if operator in COMPARISONS:
                return self._comparison(operator, left, right)
            case Apply(operator=operator, arguments=arguments):
                return self.algebra.apply(operator, *map(self.moved, arguments))
            case Read(tensor=tensor, kind=kind, indices=indices):
                return self.algebra.graph.read(tensor, kind, tuple(map(self.moved, indices)), NOWHERE)
        raise _RestsOnMore

    def _comparison(self, operator: str, left: Expr, right: Expr) -> Expr:
        """A comparison of two ints, which may each have a part of the distance: `j > i` is `j - i > 0`."""
        first, second = self._terms(left), self._terms(right)
        if first is None or second is None:
            return self.algebra.apply(operator, self.moved(left), self.moved(right))
        both = first.plus(second, -1)
        if both.key < 0:  # the distance is less than 0 where its negative is more
            apart = _Terms(both.row, both.key, ())
            return self.algebra.apply(operator, self._sum(_Terms(0, 0, both.rest)), self._sum(_negative(apart)))
        return self.algebra.apply(operator, self._sum(both), self.algebra.number(0))

    def _terms(self, expr: Expr) -> _Terms | None:
        """The terms of a sum of ints; None of what is none, though it rests on the row or the key."""
        match expr:
            case IndexValue(index=index) if index in (self.row, self.key):
                return _Terms(int(index is self.row), int(index is self.key), ())
            case _ if self.algebra.free(expr).isdisjoint((self.row, self.key)):
                return _Terms(0, 0, ((1, expr),))
            case Apply(operator="iadd" | "isub" as operator, arguments=(left, right)):
                first, second = self._terms(left), self._terms(right)
                if first is None or second is None:
                    return None
                return first.plus(second, 1 if operator == "iadd" else -1)
            case Apply(operator="ineg", arguments=(negated,)):
                terms = self._terms(negated)
                return None if terms is None else _negative(terms)
        return None

    def _sum(self, terms: _Terms) -> Expr:
        """A sum, of the distance in the place of the row and the key. Raises _RestsOnMore."""
        if terms.row != -terms.key or abs(terms.key) > 1:
            raise _RestsOnMore
        signed = [*((sign, self.distance) for sign in (terms.key,) if sign), *terms.rest]
        signed.sort(key=lambda each: -each[0])  # what is added comes first
        if not signed:
            return self.algebra.number(0)
        (sign, total), *others = signed
        if sign < 0:
            total = self.algebra.apply("ineg", total)
        for own, term in others:
            if not (isinstance(term, Constant) and term.value == 0):
                total = self.algebra.apply("iadd" if own > 0 else "isub", total, term)
        return total


def _negative(terms: _Terms) -> _Terms:
    return _Terms(0, 0, ()).plus(terms, -1)
