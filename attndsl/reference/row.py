"""One row of a block: its expressions evaluated for all key positions and all values of the axis variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from attndsl.checking.typed import (
    FOLDS,
    Apply,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Tensor,
    Write,
    walk,
)
from attndsl.reference.arrays import Array, Axes, MaskedArray, along, broadcast, union
from attndsl.reference.operators import ON_ARRAYS
from attndsl.storage import WIDE, as_stored, decode, saturated


@dataclass(frozen=True, slots=True)
class Environment:
    """What a call gives: extents, parameters, every tensor as float64, int64 or bool, the types of type variables.

    What blocks write is kept as the real number that it is: it is not rounded to the type of its tensor.
    """

    dims: Mapping[str, int]
    params: Mapping[str, int | float | bool]
    tensors: Mapping[str, Array]
    types: Mapping[str, str]


class Row:
    """The expressions of a block where its `each` variables have the values `fixed`."""

    def __init__(self, call: Environment, fixed: Mapping[Index, int], over: Axes) -> None:
        self.call = call
        self.fixed = fixed
        self.over = over
        self.known: dict[Expr, MaskedArray] = {}
        self._sizes: dict[Index, int] = {}

    def array(self, expr: Expr) -> MaskedArray:
        """The values of an expression. Each expression is evaluated once."""
        known = self.known
        if expr not in known:
            for inner in operands_first(expr):
                if inner not in known:
                    known[inner] = self._evaluate(inner)
        return known[expr]

    def size(self, index: Index) -> int:
        """How many values a variable takes."""
        if index not in self._sizes:
            extent, bound = self.array(index.extent), self.array(index.bound)
            known = extent.present and bound.present
            self._sizes[index] = max(0, min(int(extent.value), int(bound.value))) if known else 0
        return self._sizes[index]

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """How many values each of several variables takes."""
        return tuple(self.size(axis) for axis in axes)

    def kept(self, expr: Reduce) -> MaskedArray:
        """Whether a reduction counts a key position."""
        parts = [self._everywhere(self.array(part)) for part in (expr.score, expr.value) if part is not None]
        if expr.mask is not None:
            mask = self.array(expr.mask)
            parts.append(MaskedArray(mask.axes, mask.present & mask.value, mask.present))
        axes = union(parts)
        kept = _all(along(part.value, part.axes, axes) for part in parts)
        return MaskedArray(axes, kept, np.ones_like(kept))

    def write(self, write: Write, output: Array) -> None:
        """Puts the row's part of an output into it, or adds it to what is there.

        Where that is absent it is 0, but that an inout `keeps` what it holds.
        """
        value = self.array(write.value)
        self.put(write, np.where(value.present, value.value, value.value.dtype.type(0)), value.axes, output)

    def held(self, write: Write, output: Array) -> Array:
        """What stands where a write puts its own, for each value of its axes; 0 where it puts nothing."""
        places = np.zeros(self.sizes(write.axes), output.dtype)
        indices, inside = self.inside(write.tensor, write.indices)
        kept = broadcast(along(inside.value, inside.axes, write.axes), places.shape)
        where = (broadcast(along(index.value, index.axes, write.axes), places.shape) for index in indices)
        places[kept] = output[tuple(index[kept] for index in where)]
        return places

    def put(self, write: Write, values: Array, axes: Axes, output: Array, everywhere: bool = False) -> None:
        """Puts or adds values that have these axes where a write does its own: in places present and in range.

        Those that keep what they hold, as the value is absent, are none of them, unless it is to be `everywhere`.
        """
        shape = self.sizes(write.axes)

        def lined_up(array: Array, axes: Axes) -> Array:
            return broadcast(along(array, axes, write.axes), shape)

        indices, inside = self.inside(write.tensor, write.indices)
        kept = lined_up(inside.value, inside.axes)
        if write.keeps and not everywhere:
            value = self.array(write.value)
            kept = kept & lined_up(value.present, value.axes)
        places = tuple(lined_up(index.value, index.axes)[kept] for index in indices)
        if write.adds:
            np.add.at(np.atleast_1d(output), places or [0], lined_up(values, axes)[kept])
        else:
            output[places] = lined_up(values, axes)[kept]

    def _evaluate(self, expr: Expr) -> MaskedArray:
        match expr:
            case Constant(kind=kind, value=value):
                return _scalar(np.asarray(value, WIDE[kind]))
            case DimValue(name=name):
                return _scalar(np.asarray(self.call.dims[name], np.int64))
            case ParamValue(kind=kind, name=name):
                return _scalar(np.asarray(self.call.params[name], WIDE[kind]))
            case IndexValue(index=index):
                return self._index(index)
            case Read():
                return self._stored(expr)
            case Apply():
                return self._apply(expr)
            case ReduceAxis():
                return self._reduce_axis(expr)
            case Reduce():
                return self._reduce(expr)
        raise TypeError(f"an expression is no {type(expr).__name__}")

    def _index(self, index: Index) -> MaskedArray:
        if index in self.fixed:
            return _scalar(np.asarray(self.fixed[index], np.int64))
        size = self.size(index)
        return MaskedArray((index,), np.arange(size), np.ones(size, bool))

    def read(self, expr: Read, tensor: Array) -> MaskedArray:
        """What an expression reads of an array that stands for its tensor."""
        indices, inside = self.inside(expr.tensor, expr.indices)
        shape = inside.value.shape
        where = [along(index.value, index.axes, inside.axes) for index in indices]
        if inside.value.size and inside.value.all():  # as it mostly is: nothing has to be left out
            return MaskedArray(inside.axes, np.asarray(tensor[tuple(where)]), inside.value)
        value = np.zeros(shape, tensor.dtype)
        value[inside.value] = tensor[tuple(broadcast(index, shape)[inside.value] for index in where)]
        return MaskedArray(inside.axes, value, inside.value)

    def _stored(self, expr: Read) -> MaskedArray:
        """What an expression reads; of what a block wrote what the type holds, but real numbers are not rounded."""
        found = self.read(expr, self.call.tensors[expr.tensor.name])
        element = self.call.types.get(expr.tensor.element, expr.tensor.element)
        if expr.tensor.role == "input":
            return found
        held = saturated(found.value, element) if expr.kind is Kind.FLOAT else as_stored(found.value, element)
        return MaskedArray(found.axes, held if expr.kind is Kind.FLOAT else decode(held, element), found.present)

    def inside(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[list[MaskedArray], MaskedArray]:
        """The indices of an access, and whether all of them are present and in range."""
        arrays = [self.array(index) for index in indices]
        axes = union(arrays)
        inside = np.ones(self.sizes(axes), bool)
        for index, extent in zip(arrays, tensor.extents, strict=True):
            valid = index.present & (index.value >= 0) & (index.value < self.array(extent).value)
            inside = inside & along(valid, index.axes, axes)
        return arrays, MaskedArray(axes, inside, np.ones(inside.shape, bool))

    def _apply(self, expr: Apply) -> MaskedArray:
        arguments = [self.known[argument] for argument in expr.arguments]
        axes = union(arguments)
        values = [along(argument.value, argument.axes, axes) for argument in arguments]
        presents = [along(argument.present, argument.axes, axes) for argument in arguments]
        value = ON_ARRAYS[expr.operator](*values)
        return MaskedArray(axes, value, broadcast(_present(expr.operator, values, presents), value.shape))

    def _reduce_axis(self, expr: ReduceAxis) -> MaskedArray:
        body = self.known[expr.body]
        axes = (expr.index, *(axis for axis in body.axes if axis is not expr.index))
        shape = self.sizes(axes)
        value = broadcast(along(body.value, body.axes, axes), shape)
        present = broadcast(along(body.present, body.axes, axes), shape)
        return MaskedArray(axes[1:], _folded(expr.function, value), np.asarray(present.all(axis=0)))

    def _reduce(self, expr: Reduce) -> MaskedArray:
        kept, score = self.kept(expr), self.known[expr.score]
        value = self.known[expr.value] if expr.value is not None else _scalar(np.asarray(0.0))
        sink = self.known[expr.sink] if expr.sink is not None else _scalar(np.asarray(-np.inf))
        nth = self.known[expr.nth] if expr.nth is not None else _scalar(np.asarray(0))
        rest = tuple(axis for axis in union([kept, score, value, sink, nth]) if axis not in self.over)
        positions = self.sizes(self.over)

        def flat(array: Array, axes: Axes) -> Array:
            """One dimension for all key positions, then one for each other variable."""
            full = broadcast(along(array, axes, self.over + rest), positions + self.sizes(rest))
            return full.reshape(int(np.prod(positions)), *self.sizes(rest))

        result = _reduction(
            expr.function,
            flat(kept.value, kept.axes),
            flat(score.value, score.axes),
            flat(value.value, value.axes),
            along(sink.value, sink.axes, rest),
            broadcast(along(nth.value, nth.axes, rest), self.sizes(rest)),
        )
        return MaskedArray(rest, result, broadcast(along(sink.present, sink.axes, rest), result.shape))

    def _everywhere(self, masked: MaskedArray) -> MaskedArray:
        """Whether an expression is present at a key position, for all values of its other variables."""
        others = tuple(number for number, axis in enumerate(masked.axes) if axis not in self.over)
        present = np.asarray(masked.present.all(axis=others))
        return MaskedArray(tuple(axis for axis in masked.axes if axis in self.over), present, np.ones_like(present))


@lru_cache(maxsize=256)  # every row asks for it
def operands_first(*exprs: Expr) -> tuple[Expr, ...]:
    """All that expressions are made of, in the order in which it is evaluated."""
    return tuple(walk(*exprs))


def _scalar(value: Array) -> MaskedArray:
    return MaskedArray((), value, np.asarray(True))


def _present(operator: str, values: list[Array], presents: list[Array]) -> Array:
    """Where an operator's result is present: `and`, `or` and a select reach only the operands that they need."""
    match operator:
        case "and":
            return presents[0] & (~values[0] | presents[1])
        case "or":
            return presents[0] & (values[0] | presents[1])
        case "iselect" | "fselect" | "bselect":
            return presents[0] & np.where(values[0], presents[1], presents[2])
        case "idiv" | "imod":
            return np.asarray(presents[0] & presents[1] & (values[1] != 0))
        case _:
            return _all(presents)


def _all(conditions: Iterable[Array]) -> Array:
    """Where each of several arrays is true."""
    return np.asarray(reduce(np.logical_and, conditions))


def _folded(function: str, terms: Array) -> Array:
    """The sum, the largest or the smallest along the first dimension; of ints a sum alone."""
    match function:
        case "max":
            return np.asarray(terms.max(axis=0, initial=-np.inf))
        case "min":
            return np.asarray(terms.min(axis=0, initial=np.inf))
    return np.asarray(terms.sum(axis=0))


def _reduction(function: str, kept: Array, score: Array, value: Array, sink: Array, nth: Array) -> Array:
    """The table of `Reduce`, along the first dimension, over the positions that are kept.

    Scores are taken relative to the largest, so that no exponential overflows; one of +inf gives NaN.
    """
    if function in FOLDS:
        return _folded(function, np.where(kept, score, FOLDS[function].empty))
    if function == "topk":
        return _ranked(kept, score, value, nth)
    if function == "argmax":
        largest = np.where(kept, score, -np.inf).max(axis=0, initial=-np.inf)
        none = np.iinfo(np.int64).max
        found = np.where(kept & (score == largest), value, none).min(axis=0, initial=none)
        return np.where(found == none, -1, found)
    score = np.where(kept, score, -np.inf)
    largest = np.maximum(score.max(axis=0, initial=-np.inf), sink)
    shift = np.where(largest == -np.inf, 0.0, largest)
    weights = np.exp(score - shift)
    denominator = np.exp(sink - shift) + weights.sum(axis=0)
    if function == "logsumexp":
        return np.asarray(np.log(denominator) + shift)
    numerator = np.where(kept, weights * value, 0.0).sum(axis=0)
    return np.where(denominator == 0, 0.0, numerator / denominator)


def in_order(kept: Array, score: Array, value: Array) -> Array:
    """The places along the first dimension by which `topk` takes them: those that are left out come last."""
    order = np.lexsort((value, -score, ~np.isnan(score), ~kept), axis=0)
    return np.asarray(order)


def nth_of(values: Array, nth: Array, missing: int | float) -> Array:
    """Number `nth` of the values along the first dimension; `missing` where there are fewer."""
    if not len(values):
        return np.full(nth.shape, missing)
    place = np.clip(nth, 0, len(values) - 1)[np.newaxis]
    return np.where(nth == place[0], np.take_along_axis(values, place, 0)[0], missing)


def _ranked(kept: Array, score: Array, value: Array, nth: Array) -> Array:
    """The values of the keys in the order of their scores, -1 for NaN and behind the last; number `nth` of them."""
    found = np.where(kept & ~np.isnan(score), value, -1)
    return nth_of(np.take_along_axis(found, in_order(kept, score, value), 0), nth, -1)
