"""Laws that hold of every spec: a spec made into another one whose outputs are known from its own.

A law rewrites the typed spec, so that it applies to any spec, a user's too. What it gives compiles like any other spec:
where the outputs are not what the law says, the compiler or the reference is wrong, without anyone having computed what
they should be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import (
    FOLDS,
    POSITIONS,
    WEIGHING,
    Apply,
    Block,
    Constant,
    Expr,
    Index,
    IndexValue,
    Kind,
    Param,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Write,
    walk,
)
from attndsl.inputs.poison import numbered_rows, poison_absent
from attndsl.inputs.ranges import expressions
from attndsl.reference.interpreter import call_of
from attndsl.testing.case import Case

Array = np.ndarray[Any, Any]

# --- rewriting


def _same_expr(expr: Expr) -> Expr:
    return expr


def _same_index(index: Index) -> Index:
    return index


@dataclass(frozen=True)
class Change:
    """What is made of an expression and of an index variable whose own parts have been made anew already."""

    expr: Callable[[Expr], Expr] = _same_expr
    index: Callable[[Index], Index] = _same_index


def rewritten(spec: Spec, change: Callable[[Block], Change], params: Iterable[Param] = ()) -> Spec:
    """The spec with what `change` makes of each block, and with more parameters.

    What nothing has changed in stays the same object: what is one expression in the spec is one in the other.
    """
    blocks = tuple(_Rewriting(change(block)).block(block) for block in spec.blocks)
    return replace(spec, params=(*spec.params, *params), blocks=blocks)


class _Rewriting:
    """The parts of a block made anew, each of them once."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._exprs: dict[Expr, Expr] = {}
        self._indices: dict[Index, Index] = {}

    def block(self, block: Block) -> Block:
        each, over = (tuple(map(self.index, indices)) for indices in (block.each, block.over))
        return Block(each, over, tuple(map(self.write, block.writes)))

    def write(self, write: Write) -> Write:
        indices, axes = tuple(map(self.expr, write.indices)), tuple(map(self.index, write.axes))
        return replace(write, indices=indices, axes=axes, value=self.expr(write.value))

    def index(self, index: Index) -> Index:
        if index not in self._indices:
            extent, bound = self.expr(index.extent), self.expr(index.bound)
            same = extent is index.extent and bound is index.bound
            self._indices[index] = self._change.index(index if same else replace(index, extent=extent, bound=bound))
        return self._indices[index]

    def expr(self, expr: Expr) -> Expr:
        for inner in walk(expr):
            if inner not in self._exprs:
                self._exprs[inner] = self._change.expr(self._rebuilt(inner))
        return self._exprs[expr]

    def _rebuilt(self, expr: Expr) -> Expr:
        parts: dict[str, Any] = {}
        match expr:
            case IndexValue():
                parts = {"index": self.index(expr.index)}
            case Read():
                parts = {"indices": tuple(self._exprs[index] for index in expr.indices)}
            case Apply():
                parts = {"arguments": tuple(self._exprs[argument] for argument in expr.arguments)}
            case ReduceAxis():
                parts = {"index": self.index(expr.index), "body": self._exprs[expr.body]}
            case Reduce():
                parts = {name: None if part is None else self._exprs[part] for name, part in expr.parts.items()}
        # Expressions are compared by identity, and so are tuples of them.
        same = all(getattr(expr, name) == part for name, part in parts.items())
        return expr if same else replace(expr, **parts)


def fresh(spec: Spec, name: str) -> str:
    """The name, or one like it that the spec has not given to anything that a call names."""
    taken = {*spec.dims, *spec.types, *spec.tensors, *(param.name for param in spec.params)}
    while name in taken:
        name += "_"
    return name


# --- expressions


def _apply(operator: str, *arguments: Expr) -> Expr:
    return Apply(OPERATORS[operator].gives, arguments[0].span, operator, arguments)


def _constant(value: int | float | bool, beside: Expr) -> Expr:
    kind = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT}[type(value)]
    return Constant(kind, beside.span, value)


def _plus(expr: Expr, number: int) -> Expr:
    return _apply("iadd", expr, _constant(number, expr))


def _size(index: Index) -> Expr:
    """How many values a variable takes; less than 0 counts as none."""
    return index.extent if index.extent is index.bound else _apply("imin", index.extent, index.bound)


def _value(index: Index) -> Expr:
    return IndexValue(Kind.INT, index.span, index)


def _masked(reduce: Reduce, *conditions: Expr) -> Reduce:
    """A reduction that counts a key only where all of these hold as well; the mask is reached where they do."""
    *first, mask = (*conditions, reduce.mask) if reduce.mask is not None else conditions
    for condition in reversed(first):
        mask = _apply("and", condition, mask)
    return replace(reduce, mask=mask)


# --- the laws


def reversed_keys(spec: Spec) -> Spec:
    """The keys stand the other way round, which changes nothing."""
    return _with_keys(spec, lambda key, size: _apply("isub", _plus(size, -1), key))


def rotated_keys(spec: Spec, by: int) -> Spec:
    """The keys stand `by` places on, the last ones first, which changes nothing."""
    return _with_keys(spec, lambda key, size: _apply("imod", _plus(key, by), size))


def _with_keys(spec: Spec, place: Callable[[Expr, Expr], Expr]) -> Spec:
    """Each key variable replaced by what `place` makes of it and of the number of its values."""

    def expr(expr: Expr) -> Expr:
        if isinstance(expr, IndexValue) and expr.index.role == "over":
            return place(expr, _size(expr.index))
        return expr

    return rewritten(spec, lambda block: Change(expr))


def with_absent_keys(spec: Spec, more: int = 3) -> Spec:
    """Behind the last key stand others that a mask leaves out, which changes nothing."""

    def change(block: Block) -> Change:
        inside: list[Expr] = []

        def index(index: Index) -> Index:
            if index.role != "over":
                return index
            size = _size(index)
            extent = _plus(size, more)
            longer = replace(index, extent=extent, bound=extent if size is index.bound else _plus(index.bound, more))
            inside.append(_apply("ilt", _value(longer), size))
            return longer

        def expr(expr: Expr) -> Expr:
            return _masked(expr, *inside) if isinstance(expr, Reduce) else expr

        return Change(expr, index)

    return rewritten(spec, change)


def member(spec: Spec) -> tuple[Spec, str]:
    """One value of the first `each` variable alone, and the name of the parameter that says which.

    What no row of that value writes stays 0: the bits of all members together are those of the whole. Blocks that write
    what later ones read stay whole.
    """
    name = fresh(spec, "member")
    read = {expr.tensor for expr in expressions(*spec.blocks) if isinstance(expr, Read)}

    def change(block: Block) -> Change:
        if any(write.tensor in read for write in block.writes):
            return Change()
        first = block.each[0]
        which, one = ParamValue(Kind.INT, first.span, name), _constant(1, first.extent)
        rest = _apply("isub", _size(first), which)
        alone = replace(first, extent=_apply("imin", one, rest), bound=one)

        def index(index: Index) -> Index:
            return alone if index is first else index

        def expr(expr: Expr) -> Expr:
            return _apply("iadd", expr, which) if isinstance(expr, IndexValue) and expr.index is alone else expr

        return Change(expr, index)

    return rewritten(spec, change, [Param(name, Kind.INT, None, spec.blocks[0].each[0].span)]), name


def shifted_scores(spec: Spec) -> tuple[Spec, str]:
    """A constant added to the scores and sinks of every softmax and logsumexp, and taken from what logsumexp gives.

    Gives the name of the constant's parameter too. No output changes but for rounding.
    """
    name = fresh(spec, "shift")

    def expr(expr: Expr) -> Expr:
        if not isinstance(expr, Reduce) or expr.function not in WEIGHING:
            return expr
        shift = ParamValue(Kind.FLOAT, expr.span, name)
        sink = None if expr.sink is None else _apply("fadd", expr.sink, shift)
        moved = replace(expr, score=_apply("fadd", expr.score, shift), sink=sink)
        return moved if expr.function == "softmax" else _apply("fsub", moved, shift)

    span = spec.blocks[0].each[0].span
    return rewritten(spec, lambda block: Change(expr), [Param(name, Kind.FLOAT, None, span)]), name


def cut_reductions(spec: Spec) -> tuple[Spec, str]:
    """Every reduction made of two, over the keys before a place and over the others, and merged by the spec itself.

    Gives the name of the place's parameter too. No output changes but for rounding.
    """
    name = fresh(spec, "cut")

    def change(block: Block) -> Change:
        keys: list[Index] = []

        def index(index: Index) -> Index:
            keys.extend([index] if index.role == "over" else [])
            return index

        def expr(expr: Expr) -> Expr:
            if not isinstance(expr, Reduce):
                return expr
            if expr.function == "topk":  # two lists merge to one that no expression of elements says
                return expr
            before = _apply("ilt", _value(keys[0]), ParamValue(Kind.INT, expr.span, name))
            return _merged(expr, before)

        return Change(expr, index)

    span = spec.blocks[0].each[0].span
    return rewritten(spec, change, [Param(name, Kind.INT, None, span)]), name


def _merged(reduce: Reduce, before: Expr) -> Expr:
    """A reduction from those over the keys of which `before` is true, and of which it is false."""
    parts = [_masked(replace(reduce, sink=None), half) for half in (before, _apply("not", before))]
    if reduce.function in FOLDS:
        return _apply(FOLDS[reduce.function].merge, *parts)
    if reduce.function in POSITIONS:
        return _first_of_largest(parts)
    weights = [_log_weight(part) for part in parts] + ([] if reduce.sink is None else [reduce.sink])
    largest = weights[0]
    for weight in weights[1:]:
        largest = _apply("fmax", largest, weight)
    zero = _constant(0.0, reduce)
    shift = _apply("fselect", _apply("feq", largest, _constant(-math.inf, reduce)), zero, largest)
    powers = [_apply("exp", _apply("fsub", weight, shift)) for weight in weights]
    total = powers[0]
    for power in powers[1:]:
        total = _apply("fadd", total, power)
    if reduce.function == "logsumexp":
        return _apply("fadd", _apply("log", total), shift)
    summed = _apply("fadd", *(_apply("fmul", power, part) for power, part in zip(powers, parts, strict=False)))
    return _apply("fselect", _apply("feq", total, zero), zero, _apply("fdiv", summed, total))


def _first_of_largest(parts: list[Reduce]) -> Expr:
    """The position of the larger of two largest scores, the smaller position of equal ones; -1 where one is NaN."""
    first, second = parts
    tops = [replace(part, kind=Kind.FLOAT, function="max", value=None) for part in parts]
    equal = _apply("imin", first, second)
    for part, other in ((first, second), (second, first)):
        equal = _apply("iselect", _apply("ilt", part, _constant(0, part)), other, equal)
    chosen = _apply("iselect", _apply("fgt", tops[1], tops[0]), second, equal)
    chosen = _apply("iselect", _apply("fgt", *tops), first, chosen)
    for top in tops:
        chosen = _apply("iselect", _apply("fne", top, top), _constant(-1, top), chosen)
    return chosen


def _log_weight(reduce: Reduce) -> Reduce:
    """The logsumexp of the keys that a reduction counts."""
    if reduce.value is None:
        return reduce
    # A key whose value is absent does not count: the score is made to reach it.
    present = _apply("feq", reduce.value, reduce.value)
    score = _apply("fselect", present, reduce.score, reduce.score)
    return replace(reduce, function="logsumexp", score=score, value=None)


# --- single rows


NOBODY, SEVERAL = -1, -2
"""What stands for the number of the row that writes an element, where that is not one row."""


def row_of_each_element(case: Case) -> dict[str, Array]:
    """For each output, the number of the row that writes an element, as `numbered_rows` counts."""
    call = call_of(case.spec, case.arrays, case.params)
    writers = {name: np.full(wanted.shape, NOBODY) for name, wanted in case.wanted.items()}
    for number, block, row in numbered_rows(case.spec, call):
        for write in block.writes:
            if write.tensor.role == "temp":
                continue
            known = writers[write.tensor.name]
            written = np.zeros(known.shape)
            row.write(replace(write, value=_constant(1.0, write.value)), written)
            known[written == 1] = np.where(known[written == 1] == NOBODY, number, SEVERAL)
    return writers


def seen_by_one_row(case: Case, row: int) -> Case:
    """The call with NaN and infinities in all that one row's outputs do not depend on; they keep every bit."""
    return case.given(**poison_absent(case.spec, case.arrays, case.params, row))
