"""How many terms contractions have, as expressions of extents: what the passes that choose between forms compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce

from attndsl.checking.symbolic import Expression
from attndsl.ir.extents import extent_text
from attndsl.ir.xdsl import SSAValue

Terms = Counter[tuple[Expression, ...]]
"""A sum of products of extents: how often each product, its factors sorted, stands in it."""


def terms_of(variables: Iterable[SSAValue], room: Mapping[SSAValue, Expression]) -> Terms:
    """One term for each combination of values of some variables; `room` has how many values each takes."""
    extents = [room[variable] for variable in variables]
    count = 1
    for extent in extents:
        count *= extent if isinstance(extent, int) else 1
    return Counter({tuple(sorted((e for e in extents if not isinstance(e, int)), key=extent_text)): count})


def is_fewer(left: Terms, right: Terms) -> Expression:
    """The condition that one sum is smaller than another; what is in both, and factors of all of it, left out."""
    left, right = left - right, right - left
    common = reduce(Counter.__and__, (Counter(product) for product in (*left, *right)))
    return ("ilt", *(_sum(Counter({_without(p, common): n for p, n in terms.items()})) for terms in (left, right)))


def _without(product: tuple[Expression, ...], common: Counter[Expression]) -> tuple[Expression, ...]:
    return tuple(sorted((Counter(product) - common).elements(), key=extent_text))


def _sum(terms: Terms) -> Expression:
    """The sum, its products in the order of their texts."""
    products: list[Expression] = []
    for product, count in sorted(terms.items(), key=lambda item: [extent_text(factor) for factor in item[0]]):
        factors = [*([count] if count > 1 or not product else []), *product]
        products.append(reduce(lambda a, b: ("imul", a, b), factors))
    return reduce(lambda a, b: ("iadd", a, b), products, *([] if products else [0]))
