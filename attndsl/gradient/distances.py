"""Subscripts that tell of a row and a key only how far apart they are.

A gradient that adds up at such places is summed by distance first: an element for each, of which there are as many as
rows and keys together, and then each distance gives its sum to where the place has it, as T5's buckets do. So of all
pairs of rows and keys none asks data where it adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.checking.typed import Apply, Expr, Index, IndexValue, Read
from attndsl.gradient.algebra import Algebra, Moving

DIFFERENCES = ("iadd", "isub", "ineg", "ieq", "ine", "ilt", "ile", "igt", "ige")
"""Sums of ints, and what compares two: `j > i` is `j - i > 0`."""


def by_distance(
    algebra: Algebra, places: Sequence[Expr], row: Index, key: Index, rows: Expr, at: Expr
) -> tuple[Expr, ...] | None:
    """Places of the pair of a row and a key that are as far apart as `rows` and `at`; None where they tell more."""
    if not all(map(_Distance(algebra, row, key).tells, places)):
        return None
    return tuple(map(Moving(algebra, instead={algebra.index(row): rows, algebra.index(key): at}), places))


class _Distance:
    """A row and a key, and whether expressions rest on their distance alone."""

    def __init__(self, algebra: Algebra, row: Index, key: Index) -> None:
        self._algebra, self._row, self._key = algebra, row, key

    def tells(self, expr: Expr) -> bool:
        """Whether an expression rests on the distance, or on neither."""
        if self._algebra.free(expr).isdisjoint((self._row, self._key)):
            return True
        match expr:
            case Apply(operator=operator) if operator in DIFFERENCES:
                counts = self._counts(expr)
                return counts is not None and counts[0] == -counts[1]
            case Apply(arguments=parts) | Read(indices=parts):
                return all(map(self.tells, parts))
        return False

    def _counts(self, expr: Expr) -> tuple[int, int] | None:
        """How often a sum of ints, or what two are compared by, has the row and the key; None where else it rests."""
        match expr:
            case IndexValue(index=index) if index in (self._row, self._key):
                return int(index is self._row), int(index is self._key)
            case Apply(operator=operator, arguments=parts) if operator in DIFFERENCES:
                found = [self._counts(part) for part in parts]
                if None in found:
                    return None
                signs = (-1,) if operator == "ineg" else (1, 1 if operator == "iadd" else -1)
                signed = [(s * each[0], s * each[1]) for s, each in zip(signs, found, strict=True) if each is not None]
                return sum(row for row, _ in signed), sum(key for _, key in signed)
        return (0, 0) if self.tells(expr) else None
