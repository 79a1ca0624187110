"""Adjoints of a graph of expressions, from what is computed back to what it is computed of (reverse accumulation).

What is differentiated lies in a nest of loops: rows, and the keys that each of them sums over. An expression that
depends on no variable of the inner loop has one adjoint for all its turns: their sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from attndsl.checking.typed import Apply, Expr, Index, ReduceAxis, walk
from attndsl.gradient.adjoints import ADJOINTS, Adjoint
from attndsl.gradient.algebra import NOWHERE, Algebra, Moving, float_operands
from attndsl.gradient.errors import UnknownAdjoint
from attndsl.gradient.presence import rests_on_axis


def reaching(roots: Iterable[Expr], wanted: Collection[Expr]) -> set[Expr]:
    """The expressions below `roots` whose derivative by one of `wanted` is not 0 by their form alone."""
    found: set[Expr] = set()
    for expr in walk(*roots, through=float_operands):
        if expr in wanted or any(part in found for part in float_operands(expr)):
            found.add(expr)
    return found


Keep = Callable[[Expr, Expr], Expr]
"""Of an expression and its adjoint, a sum over an inner loop: what to go on with, such as a place where it is kept."""


def sweep(
    algebra: Algebra,
    roots: Iterable[tuple[Expr, Adjoint]],
    wanted: Collection[Expr],
    mask: Expr | None = None,
    keep: Keep | None = None,
    alone: bool = False,
) -> dict[Expr, Adjoint]:
    """The adjoints of `wanted`, of the adjoints of `roots`.

    Where there is an inner loop, of `over` variables, there is `keep`, and the turns are those where `mask` holds; else
    all adjoints are 0 where it does not. Elements along axes are absent together, or `alone`. Raises UnknownAdjoint.
    """
    return _Sweep(algebra, wanted, mask, keep, alone).run(list(roots))


class _Sweep:
    def __init__(
        self, algebra: Algebra, wanted: Collection[Expr], mask: Expr | None, keep: Keep | None, alone: bool
    ) -> None:
        self._algebra = algebra
        self._wanted = wanted
        self._mask = mask
        self._keep = keep
        self._alone = alone
        self._in_turns: dict[Expr, list[Adjoint]] = defaultdict(list)
        self._summed: dict[Expr, list[Adjoint]] = defaultdict(list)

    def run(self, roots: list[tuple[Expr, Adjoint]]) -> dict[Expr, Adjoint]:
        reached = reaching([root for root, _ in roots], self._wanted)
        for root, adjoint in roots:
            if root in reached:
                given = adjoint if self._keep else adjoint._replace(where=self._algebra.both(self._mask, adjoint.where))
                self._give(root, given, self._in_turns)
        found: dict[Expr, Adjoint] = {}
        for expr in reversed([*walk(*(root for root, _ in roots), through=float_operands)]):
            if expr in reached and (expr in self._in_turns or expr in self._summed):
                self._settle(expr)
                adjoint, level = self._of(expr)
                if expr in self._wanted:
                    found[expr] = adjoint
                else:
                    self._propagate(expr, adjoint, level, reached)
        return found

    def _settle(self, expr: Expr) -> None:
        """Sums up the turns, where the expression is the same in all of them."""
        if self._keep is not None and expr in self._in_turns and not self._varies(expr):
            total = self._merged(self._in_turns.pop(expr))
            value = self._algebra.sum_of_keys(self._algebra.where(total.where, total.value), self._mask)
            kept = self._keep(expr, value)
            self._summed[expr].append(Adjoint(kept, None if expr in self._wanted else self._algebra.is_some(kept)))

    def _of(self, expr: Expr) -> tuple[Adjoint, dict[Expr, list[Adjoint]]]:
        level = self._in_turns if expr in self._in_turns else self._summed
        return self._merged(level[expr]), level

    def _varies(self, expr: Expr) -> bool:
        return any(index.role == "over" for index in self._algebra.free(expr))

    def _merged(self, parts: list[Adjoint]) -> Adjoint:
        """The sum of several; where one alone is some of them need not be numbers."""
        by_condition: dict[Expr | None, Expr] = {}
        for part in parts:
            by_condition[part.where] = self._algebra.add(by_condition.get(part.where), part.value)
        if len(by_condition) == 1:
            ((where, value),) = by_condition.items()
            return Adjoint(value, where)
        total: Expr | None = None
        for where, value in by_condition.items():
            total = self._algebra.add(total, self._algebra.where(where, value))
        assert total is not None
        return Adjoint(total, self._any(by_condition))

    def _any(self, conditions: Iterable[Expr | None]) -> Expr | None:
        """That one of some conditions holds."""
        found: Expr | None = None
        for condition in conditions:
            if condition is None:
                return None
            found = condition if found is None else self._algebra.apply("or", found, condition)
        return found

    def _propagate(
        self, expr: Expr, adjoint: Adjoint, level: dict[Expr, list[Adjoint]], reached: Collection[Expr]
    ) -> None:
        algebra = self._algebra
        match expr:
            case ReduceAxis(function="sum", index=axis, body=body):
                self._give(body, adjoint, level, _axes(self._algebra.free(expr)) | {axis})
            case ReduceAxis(index=axis, body=body):
                first = self._first(body, expr, axis)
                mine = algebra.both(adjoint.where, algebra.apply("ieq", algebra.index(axis), first))
                self._give(body, Adjoint(adjoint.value, mine), level, _axes(algebra.free(expr)) | {axis})
            case Apply(operator=operator, arguments=arguments):
                parts = ADJOINTS[operator](self._algebra, arguments, expr, adjoint.value)
                for argument, part in zip(arguments, parts, strict=True):
                    if part is not None and argument in reached:
                        where = algebra.both(adjoint.where, part.where)
                        self._give(argument, Adjoint(part.value, where), level, _axes(algebra.free(expr)))

    def _first(self, body: Expr, extreme: Expr, axis: Index) -> Expr:
        """The first place along an axis that has its largest or least number, which is computed here from the same."""
        algebra = self._algebra
        end = Moving(algebra)(axis.extent)
        place = algebra.apply("iselect", algebra.apply("feq", body, extreme), algebra.index(axis), end)
        return algebra.graph.reduce_axis("min", axis, place, NOWHERE)

    def _give(
        self, expr: Expr, adjoint: Adjoint, level: dict[Expr, list[Adjoint]], within: frozenset[Index] = frozenset()
    ) -> None:
        """Adds to the adjoint of an expression, of all elements along axes that it does not have.

        Those are axes of the adjoint, and of what it is computed in (`within`), along which it may be the same.
        """
        algebra = self._algebra
        value, where = adjoint
        own, axes = _axes(algebra.free(expr)), _axes(algebra.free(value))
        folded = where is not None and not _axes(algebra.free(where)) <= own
        if folded and where is not None:
            axes |= _axes(algebra.free(where))
            value, where = algebra.where(where, value), None
        if self._alone and any(rests_on_axis(value, axis) for axis in axes - own):
            raise UnknownAdjoint("a sum along an axis of which elements may be absent")
        value = algebra.sum_over(axes - own, value)
        for axis in sorted(within - own - axes, key=lambda axis: axis.name):
            value = algebra.multiply(value, algebra.extent(axis))
        level[expr].append(Adjoint(value, self._algebra.is_some(value) if folded else where))


def _axes(indices: frozenset[Index]) -> frozenset[Index]:
    return frozenset(index for index in indices if index.role == "axis")
