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
    """What stands for a variable and its quotient: the groups, the places in one, and the variable made of these."""

    variable: Index
    quotient: Expr
    row: Index
    place: Index
    value: Expr


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


def count_of(algebra: Algebra, quotient: Apply, requires: Iterable[Expr]) -> Expr | None:
    """How many groups a quotient tells apart, where `requires` say that all are of one size; else None."""
    (variable,), size = algebra.free(quotient), quotient.arguments[1]
    extent, known = Moving(algebra)(variable.extent), {*map(expression_text, requires)}

    def divides(number: Expr) -> bool:
        rest = algebra.apply("imod", extent, number)
        return expression_text(algebra.apply("ieq", rest, algebra.number(0))) in known

    if isinstance(size, Apply):  # X / Y in each of Y groups
        whole, count = size.arguments
        return count if whole is extent and divides(count) else None
    return algebra.apply("idiv", extent, size) if divides(size) else None


def group_of(algebra: Algebra, quotient: Apply, count: Expr, names: tuple[str, str]) -> Group:
    """What stands for the variable of a quotient, by these names of so many groups and of places in them."""
    (variable,), size = algebra.free(quotient), quotient.arguments[1]
    row = replace(variable, name=names[0], role="each", extent=count, bound=count)
    place = replace(variable, name=names[1], role="over", extent=size, bound=size)
    first = algebra.apply("imul", algebra.index(row), size)
    return Group(variable, quotient, row, place, algebra.apply("iadd", first, algebra.index(place)))


def shapes(block: Block, variable: Index) -> bool:
    """Whether how many values a variable has differs, or other variables' extents rest on it."""
    others = (index for index in (*block.each, *block.over) if index is not variable)
    ends = [end for index in others for end in (index.extent, index.bound)]
    rests = any(isinstance(e, IndexValue) and e.index is variable for e in walk(*ends))
    return rests or variable.extent is not variable.bound or not _is_fixed(variable.extent)


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
