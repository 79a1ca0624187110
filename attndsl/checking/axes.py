"""Axis variables, from a pool, so that the same contraction written twice is the same expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attndsl.checking.graph import Graph
from attndsl.checking.typed import DimValue, Expr, Index, walk
from attndsl.syntax.source import Span


class Axes:
    """The axis variables of a spec, one list for each extent, and those that are open at the moment.

    A binder takes the first variable of its extent's list that is neither open around it nor bound inside it, so that
    no variable is ever bound twice on a path and none captures.
    """

    def __init__(self, graph: Graph, taken: set[str]) -> None:
        self._graph = graph
        self._taken = taken
        self._pools: dict[Expr, list[Index]] = {}
        self.open: frozenset[Index] = frozenset()

    def bind(
        self, extents: Sequence[Expr], span: Span, build: Callable[[tuple[Expr, ...]], Expr]
    ) -> tuple[tuple[Index, ...], Expr]:
        """Variables over `extents` and what `build` makes of their values."""
        if not extents:
            return (), build(())
        for index in self._candidates(extents[0], span):
            if index in self.open:
                continue
            before, value = self.open, self._graph.index(index, index.span)
            self.open = before | {index}
            try:
                rest, body = self.bind(extents[1:], span, lambda values, first=value: build((first, *values)))  # type: ignore[misc]
            finally:
                self.open = before
            if index not in self._graph.facts(body).bound:
                return (index, *rest), body
        raise AssertionError("a pool never ends")

    def _candidates(self, extent: Expr, span: Span) -> Iterator[Index]:
        pool = self._pools.setdefault(extent, [])
        number = 0
        while True:
            if number == len(pool):
                pool.append(Index(self._name(extent), "axis", extent, extent, span))
            yield pool[number]
            number += 1

    def _name(self, extent: Expr) -> str:
        """A name nothing in the spec has: the dim's in lower case, with a number where that is taken."""
        dims = [expr.name for expr in walk(extent) if isinstance(expr, DimValue)]
        stem = name = dims[0].lower() if dims else "axis"
        number = 0
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name
