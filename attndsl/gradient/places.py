"""Which variables the places of a write tell apart: two rows that differ in one of them write different elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attndsl.checking.text import expression_text
from attndsl.checking.typed import Apply, Expr, Index, IndexValue, Read, Tensor, walk


def told_apart(places: Sequence[Expr]) -> set[Index]:
    """The variables that subscripts tell apart: alone, as digits of a number (`h * E + e`), or behind offsets.

    Offsets, where `i` of `cu[b] + i` goes up to `cu[b + 1] - cu[b]`, are taken to rise.
    """
    return {index for place in places for index in _told(place)}


def slice_of(tensor: Tensor, number: int, place: Expr, axis: Index) -> str | None:
    """Subscript `number` of a tensor for all of an axis, as a slice; None where it is none, or may leave the tensor."""
    extent, own = expression_text(tensor.extents[number]), expression_text(axis.extent)
    if isinstance(place, IndexValue):
        return ":" if extent == own else f":{own}"
    terms = [*joined("iadd", place)]
    rest = [term for term in terms if not (isinstance(term, IndexValue) and term.index is axis)]
    if len(rest) != len(terms) - 1 or any(isinstance(e, IndexValue) and e.index is axis for e in walk(*rest)):
        return None
    start = " + ".join(map(expression_text, rest))
    if extent in (f"{own} + {start}", f"{start} + {own}"):
        return f"{start}:"
    moves = any(isinstance(e, IndexValue) for e in walk(*rest))
    return f"{start} : {start} + {own}" if moves else None


def is_inside(place: Expr, extent: str) -> bool:
    """Whether a subscript is below an extent for certain: a variable that goes up to it, or digits that do."""
    if isinstance(place, IndexValue):
        return expression_text(place.index.extent) == extent
    terms, found = [*joined("iadd", place)], _told(place)
    if len(terms) != 2 or len(found) != 2 or any(isinstance(e, Read) for e in walk(place)):
        return False
    low = next(term.index for term in terms if isinstance(term, IndexValue))
    (high,) = found - {low}
    sizes = expression_text(high.extent), expression_text(low.extent)
    for one, other in (sizes, sizes[::-1]):
        if extent == f"{one} * {other}":
            return True
        if all(name.isidentifier() or name.isdigit() for name in (extent, one)) and other == f"{extent} / {one}":
            return True
    return False


def _told(place: Expr) -> set[Index]:
    terms = [*joined("iadd", place)]
    found = {term.index for term in terms if isinstance(term, IndexValue)}
    if len(found) != 1 or len(terms) == 1:
        return found if len(terms) == 1 else set()
    (low,) = found
    rest = [term for term in terms if not isinstance(term, IndexValue)]
    moving = [term for term in rest if any(isinstance(e, IndexValue) for e in walk(term))]
    if not moving:  # the same offset for all
        return {low}
    if len(moving) != 1:
        return set()
    match moving[0]:
        case Apply(operator="imul", arguments=(IndexValue(index=high), size) | (size, IndexValue(index=high))):
            return {low, high} if expression_text(size) == expression_text(low.extent) else set()
        case Read(tensor=tensor, indices=(IndexValue(index=high),)) as first:
            text = f"{tensor.name}[{high.name} + 1] - {expression_text(first)}"
            return {low, high} if expression_text(low.extent) == text else set()
    return set()


def joined(operator: str, expr: Expr) -> Iterator[Expr]:
    """What an operator joins: the terms of a sum, what has to hold for a conjunction to."""
    if isinstance(expr, Apply) and expr.operator == operator:
        for part in expr.arguments:
            yield from joined(operator, part)
    else:
        yield expr
