"""Weights that are written at their keys: a block for what is one number a row, and one whose rows are the keys.

`p[b,h,i,j] = softmax(s, mask)` is exp(s - the row's log-sum-exp). The first block leaves each reduction over keys in a
temp of its own, and in the second one the keys are rows, which read it: nothing is reduced once for every key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from attndsl.checking.context import CheckedBlock, Context
from attndsl.checking.typed import (
    COMPUTED,
    Apply,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Read,
    Reduce,
    ReduceAxis,
    Tensor,
    Write,
)
from attndsl.checking.values import SoftmaxWeights


def weight_of(context: Context, block: int, weights: SoftmaxWeights) -> Expr:
    """The weight of a key, 0 where the mask leaves it out."""
    graph, score, mask, sink, span = context.graph, weights.score, weights.mask, weights.sink, weights.span
    total: Expr = graph.reduce(block, "logsumexp", score, mask, None, sink, span)
    if sink is not None and graph.facts(sink).partial:  # absent where the sink is, as the reduction is
        total = graph.apply("fselect", (graph.apply("feq", (sink, sink), span), total, total), span)
    counts: Expr = graph.apply("fne", (score, graph.constant(float("-inf"), span)), span)
    if mask is not None:
        counts = graph.apply("and", (mask, counts), span)
    power = graph.apply("exp", (graph.apply("fsub", (score, total), span),), span)
    return graph.apply("fselect", (counts, power, graph.constant(0.0, span)), span)


@dataclass(frozen=True, slots=True)
class KeyBlock:
    """The block whose rows are the keys of another, and what the other leaves for it."""

    each: tuple[Index, ...]
    left: tuple[Write, ...]
    writes: tuple[Write, ...]


def key_block(context: Context, rows: CheckedBlock, tensors: Mapping[str, Tensor]) -> KeyBlock:
    """What becomes of a block's writes at keys, whose bounds are known but for those of the keys."""
    keys = {index: replace(index, role="each") for index in rows.over or ()}
    moving = _Moving(context, rows, keys, {*tensors, *context.defined})
    writes = tuple(moving.write(write) for write in rows.at_keys)
    return KeyBlock((*rows.each, *keys.values()), tuple(moving.left.values()), writes)


class _Moving:
    """Writes in terms of other index variables, for which reductions are left in temps."""

    def __init__(self, context: Context, rows: CheckedBlock, keys: Mapping[Index, Index], taken: set[str]) -> None:
        self._context = context
        self._rows = rows
        self._keys = keys
        self._taken = taken
        self._known: dict[Expr, Expr] = {}
        self.left: dict[Expr, Write] = {}

    def write(self, write: Write) -> Write:
        indices = tuple(self._expr(index, write) for index in write.indices)
        return replace(write, indices=indices, value=self._expr(write.value, write))

    def _expr(self, expr: Expr, write: Write) -> Expr:
        if expr not in self._known:
            self._known[expr] = self._moved(expr, write)
        return self._known[expr]

    def _moved(self, expr: Expr, write: Write) -> Expr:
        graph = self._context.graph
        match expr:
            case IndexValue(index=index):
                return graph.index(self._keys.get(index, index), expr.span)
            case Read():
                indices = tuple(self._expr(index, write) for index in expr.indices)
                return graph.read(expr.tensor, expr.kind, indices, expr.span)
            case Apply():
                arguments = tuple(self._expr(argument, write) for argument in expr.arguments)
                return graph.apply(expr.operator, arguments, expr.span)
            case ReduceAxis():
                return graph.reduce_axis(expr.function, expr.index, self._expr(expr.body, write), expr.span)
            case Reduce():
                return self._leave(expr, write)
        return expr

    def _leave(self, expr: Reduce, write: Write) -> Expr:
        """What reads a reduction from the temp that it is left in, an element for each row and each axis."""
        graph, free = self._context.graph, self._context.graph.facts(expr).free
        axes = tuple(sorted((index for index in free if index.role == "axis"), key=lambda index: index.name))
        places = tuple(graph.index(index, expr.span) for index in (*self._rows.each, *axes))
        if expr not in self.left:
            extents = tuple(self._room(index) for index in (*self._rows.each, *axes))
            name = next(name for name in _names(f"{write.tensor.name}_{expr.function}") if name not in self._taken)
            self._taken.add(name)
            temp = Tensor(name, "temp", COMPUTED[expr.kind], extents, expr.span)
            self.left[expr] = Write(temp, places, axes, expr, write.span)
        return graph.read(self.left[expr].tensor, expr.kind, places, expr.span)

    def _room(self, index: Index) -> Expr:
        """How many elements a tensor has along an index, whose bound may be less than 0."""
        if isinstance(index.bound, DimValue) or (isinstance(index.bound, Constant) and index.bound.value >= 0):
            return index.bound
        zero = self._context.graph.constant(0, index.span)
        return self._context.graph.apply("imax", (zero, index.bound), index.span)


def _names(name: str) -> Iterator[str]:
    yield name
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1
