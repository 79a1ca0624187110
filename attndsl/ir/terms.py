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


def terms_of(variables: Iterable[SSAValue], room: Mapping[SSAValue, Expression], count: int = 1) -> Terms:
    """So many terms for each combination of values of some variables; `room` has how many values each takes."""
    extents = [room[variable] for variable in variables]
    for extent in extents:
        count *= extent if isinstance(extent, int) else 1
    return Counter({tuple(sorted((e for e in extents if not isinstance(e, int)), key=extent_text)): count})


def is_fewer(left: Terms, right: Terms) -> Expression:
    """The condition that one sum is smaller than another; what is in both, and factors of all of it, left out."""
    left, right = left - right, right - left
    common = _common((*left, *right))
    return ("ilt", *(_sum(_without(terms, common)) for terms in (left, right)))


def _common(products: Iterable[tuple[Expression, ...]]) -> Counter[Expression]:
    """The factors of all of some products."""
    factors = [Counter(product) for product in products]
    return reduce(Counter.__and__, factors) if factors else Counter()


def _without(terms: Terms, factors: Counter[Expression]) -> Terms:
    return Counter(
        {tuple(sorted((Counter(p) - factors).elements(), key=extent_text)): count for p, count in terms.items()}
    )


def _sum(terms: Terms) -> Expression:
    """The sum, common factors before it, its products in the order of their texts, and a number last."""
    common = _common(terms)
    found = sorted(_without(terms, common).items(), key=lambda item: (not item[0], [*map(extent_text, item[0])]))
    products = [_product((count, *factors)) for factors, count in found]
    return _product((*sorted(common.elements(), key=extent_text), reduce(lambda a, b: ("iadd", a, b), products or [0])))


def _product(factors: Iterable[Expression]) -> Expression:
    """The product; what is 1 is left out."""
    return reduce(lambda a, b: ("imul", a, b), [factor for factor in factors if factor != 1] or [1])
