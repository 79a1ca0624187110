"""Which loops a gradient is summed in: rows and their keys as they are, or in each other's place.

An input that is read at X[f(row, key)] has at u the sum over all rows and keys whose f is u. So what f depends on are
the rows of the gradient's nest, and the rest is summed over. Where f depends on rows alone that is the nest of the spec
itself; where it depends on keys, rows and keys change places. Of a variable that f divides the quotient is a row. An
extent that depends on what stands further in then is a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from attndsl.checking.typed import Apply, Block, Constant, Expr, Index, IndexValue, Read, Tensor, walk
from attndsl.gradient.algebra import Algebra, Moving
from attndsl.gradient.errors import UnknownAdjoint
from attndsl.gradient.groups import Group


@dataclass(frozen=True, eq=False)
class Nest:
    """The variables of a nest, what stands in it for an expression of the spec, and under which condition it runs."""

    each: tuple[Index, ...]
    over: tuple[Index, ...]
    moved: Moving
    inside: Expr | None


def nest_of(
    algebra: Algebra,
    block: Block,
    rows: frozenset[Index],
    tensors: Mapping[Tensor, Tensor] = {},
    groups: Sequence[Group] = (),
) -> Nest:
    """The nest of which `rows`, `each` or `over` variables of a block, are the rows; `tensors` stand for others.

    Of variables that have `groups`, these are the rows; what is in a group comes first of what is summed over.
    """
    grouped = {group.variable: group for group in groups}
    variables = (*block.each, *block.over)
    each = [index for index in variables if index in rows]
    over = [index for index in variables if index not in rows]
    mapping: dict[Index, Index] = {}
    bounded: list[Index] = []
    for role, indices in (("each", each), ("over", over)):
        known = set(mapping)
        for index in indices:
            if index in grouped:
                mapping[index] = grouped[index].row
                continue
            fits = _variables(index.extent) <= (set(mapping) if role == "each" else known)
            if index.role == role and fits and not _is_moved(index, mapping, tensors):
                mapping[index] = index
                continue
            moved = Moving(algebra, mapping, tensors=tensors)
            bound = _most(algebra, index.bound)
            extent = moved(index.extent) if fits else bound
            mapping[index] = replace(index, role=role, extent=extent, bound=bound)  # type: ignore[arg-type]
            bounded += [] if fits else [index]
    instead: dict[Expr, Expr] = {group.quotient: algebra.index(group.row) for group in groups}
    instead |= {algebra.index(group.variable): group.value for group in groups}
    moved = Moving(algebra, mapping, instead, tensors)
    inside = algebra.both(
        *(algebra.apply("ilt", algebra.index(mapping[index]), moved(index.extent)) for index in bounded)
    )
    places = tuple(group.place for group in groups)
    return Nest(tuple(mapping[i] for i in each), (*places, *(mapping[i] for i in over)), moved, inside)


def _is_moved(index: Index, mapping: Mapping[Index, Index], tensors: Mapping[Tensor, Tensor]) -> bool:
    """Whether the extent of a variable rests on what something else stands for."""
    exprs = [*walk(index.extent, index.bound)]
    others = any(isinstance(e, IndexValue) and mapping.get(e.index, e.index) is not e.index for e in exprs)
    return others or any(isinstance(e, Read) and e.tensor in tensors for e in exprs)


def _most(algebra: Algebra, extent: Expr) -> Expr:
    """An upper bound of an extent that is the same for all rows. Raises UnknownAdjoint where none is known."""
    return _furthest(algebra, extent, up=True)


def _furthest(algebra: Algebra, expr: Expr, up: bool) -> Expr:
    """The largest, or least, that an int can be, whatever the rows are; each row is at least 0."""
    match expr:
        case _ if not _variables(expr):
            return Moving(algebra)(expr)
        case IndexValue(index=index):
            return _plus(algebra, _most(algebra, index.bound), -1) if up else algebra.number(0)
        case Apply(operator="iadd", arguments=(left, right)):
            return _sum(algebra, "iadd", _furthest(algebra, left, up), _furthest(algebra, right, up))
        case Apply(operator="isub", arguments=(left, right)):
            return _sum(algebra, "isub", _furthest(algebra, left, up), _furthest(algebra, right, not up))
        case Apply(operator="imin" | "imax" as operator, arguments=arguments):
            either = operator == ("imin" if up else "imax")  # each of the two is a bound
            fixed = [part for part in arguments if not _variables(part)]
            bounds = [_furthest(algebra, part, up) for part in (fixed if either and fixed else arguments)]
            return bounds[0] if len(bounds) == 1 else algebra.apply(operator, *bounds)
    raise UnknownAdjoint("a number of keys that depends on the row")


def _sum(algebra: Algebra, operator: str, left: Expr, right: Expr) -> Expr:
    """A sum or difference, without a number that is added to 0 or taken away again."""
    if isinstance(right, Constant):
        return _plus(algebra, left, int(right.value) * (1 if operator == "iadd" else -1))
    if isinstance(left, Constant) and operator == "iadd":
        return _plus(algebra, right, int(left.value))
    return algebra.apply(operator, left, right)


def _plus(algebra: Algebra, expr: Expr, number: int) -> Expr:
    """An int and a number."""
    match expr:
        case Constant(value=value):
            return algebra.number(int(value) + number)
        case Apply(operator="iadd", arguments=(left, Constant(value=value))):
            return _plus(algebra, left, number + int(value))
        case Apply(operator="isub", arguments=(left, Constant(value=value))):
            return _plus(algebra, left, number - int(value))
    if number == 0:
        return expr
    return algebra.apply("iadd" if number > 0 else "isub", expr, algebra.number(abs(number)))


def variables_of(algebra: Algebra, exprs: Iterable[Expr]) -> frozenset[Index]:
    """The rows and keys that expressions depend on."""
    free = frozenset[Index]().union(*map(algebra.free, exprs))
    return frozenset(index for index in free if index.role != "axis")


def _variables(expr: Expr) -> set[Index]:
    return {part.index for part in walk(expr) if isinstance(part, IndexValue)}
