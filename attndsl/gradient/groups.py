"""Variables of which places know a quotient alone: groups, and what is in a group.

What a place X[h / c] is given by all h of a group is a sum over the places in that group. So in a nest whose rows know
h by that quotient alone the groups are rows, and the rest of h is summed over: no two rows meet in one element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from attndsl.checking.text import expression_text
from attndsl.checking.typed import Apply, Block, Constant, DimValue, Expr, Index, IndexValue, walk
from attndsl.gradient.algebra import Algebra, Moving


@dataclass(frozen=True, eq=False)
class Group:
    """What stands for a variable and its quotient: the groups, the places in one, and where these are of the variable.

    `inside` is None where all are.
    """

    variable: Index
    quotient: Expr
    row: Index
    place: Index
    value: Expr
    inside: Expr | None


def quotient_of(algebra: Algebra, variable: Index, places: Iterable[Expr]) -> Apply | None:
    """The quotient of a variable by a positive number by which alone places know it; None where there is none."""
    found: set[Apply] = set()
    stack, seen = [*places], set[Expr]()
    while stack:
        expr = stack.pop()
        if expr in seen or variable not in algebra.free(expr):
            continue
        seen.add(expr)
        match expr:
            case IndexValue():
                return None
            case Apply(operator="idiv", arguments=(IndexValue(), divisor)) if _is_positive(divisor):
                found.add(expr)
            case Apply(arguments=arguments):
                stack += arguments
            case _:
                return None
    return found.pop() if len(found) == 1 else None


def group_of(algebra: Algebra, quotient: Apply, requires: Iterable[Expr], names: tuple[str, str]) -> Group:
    """What stands for the variable of a quotient, by these names, where `requires` hold of a call."""
    index_value, size = quotient.arguments
    assert isinstance(index_value, IndexValue)
    variable = index_value.index
    extent = Moving(algebra)(variable.extent)
    count, whole = _count(algebra, extent, size, {*map(expression_text, requires)})
    row = replace(variable, name=names[0], role="each", extent=count, bound=count)
    place = replace(variable, name=names[1], role="over", extent=size, bound=size)
    first = algebra.apply("imul", algebra.index(row), size)
    value = algebra.apply("iadd", first, algebra.index(place))
    return Group(variable, quotient, row, place, value, None if whole else algebra.apply("ilt", value, extent))


def shapes(block: Block, variable: Index) -> bool:
    """Whether how many values a variable has differs, or other variables' extents rest on it."""
    others = (index for index in (*block.each, *block.over) if index is not variable)
    ends = [end for index in others for end in (index.extent, index.bound)]
    rests = any(isinstance(e, IndexValue) and e.index is variable for e in walk(*ends))
    return rests or variable.extent is not variable.bound or not _is_fixed(variable.extent)


def _count(algebra: Algebra, extent: Expr, size: Expr, requires: set[str]) -> tuple[Expr, bool]:
    """How many groups of a size there are, and whether the last one is as large as the others."""
    if isinstance(size, Apply) and size.operator == "idiv":  # X / Y of each of Y groups
        whole, count = size.arguments
        if whole is extent and _text(algebra, "imod", whole, count) in requires:
            return count, True
    if _text(algebra, "imod", extent, size) in requires:
        return algebra.apply("idiv", extent, size), True
    above = algebra.apply("isub", algebra.apply("iadd", extent, size), algebra.number(1))
    return algebra.apply("idiv", above, size), False


def _text(algebra: Algebra, operator: str, left: Expr, right: Expr) -> str:
    """The requirement that a remainder is 0, as text."""
    return expression_text(algebra.apply("ieq", algebra.apply(operator, left, right), algebra.number(0)))


def _is_positive(divisor: Expr) -> bool:
    """Whether a divisor, which is not 0 in a call that is taken, is at least 1."""
    match divisor:
        case Constant(value=value):
            return value >= 1
        case DimValue():
            return True
        case Apply(operator="idiv", arguments=(left, right)):
            return _is_positive(left) and _is_positive(right)
    return False


def _is_fixed(extent: Expr) -> bool:
    """Whether an extent is made of dims and numbers."""
    return all(isinstance(e, DimValue | Constant | Apply) for e in walk(extent))
