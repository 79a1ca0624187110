"""Values of the IR as arrays: their axes, their types, and how they are folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.ir.meaning import COMPARISONS, POINTWISE, Array
from attndsl.ir.residence import Stay
from attndsl.ir.streams import Terms
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import Attribute, FloatAttr, IntegerAttr, Operation, SSAValue, arith, f64, i1, index
from attndsl.storage import decode, encode


@dataclass(slots=True)  # not frozen, though nothing changes one: that takes three times as long to make
class NamedArray:
    """An array whose axes are index variables, in the order of `axes`; `stay` says that it lies in a home."""

    array: Array
    axes: tuple[SSAValue, ...] = ()
    stay: Stay | None = None

    def along(self, axes: tuple[SSAValue, ...]) -> Array:
        """The array with its axes in the places that `axes` gives them, and 1 where it has none."""
        if self.axes == axes:
            return self.array
        own, count, sizes = self.axes, 0, []
        for axis in axes:
            has = count < len(own) and own[count] is axis
            sizes.append(self.array.shape[count] if has else 1)
            count += has
        if count == len(own):  # they come in the same order, as they mostly do
            return self.array.reshape(sizes)
        order = sorted(range(len(own)), key=lambda n: axes.index(own[n]))
        known = dict(zip(own, self.array.shape, strict=True))
        return self.array.transpose(order).reshape([known.get(axis, 1) for axis in axes])


def formulas(dtype: Any) -> Terms[Array]:
    """Formulas of arrays."""

    def apply(op: type[Operation], *made_of: Any) -> Array:
        if op is arith.CmpfOp:
            *arrays, name = made_of
            return np.asarray(COMPARISONS[name](*arrays))
        return np.asarray(POINTWISE[op](*made_of))

    return Terms(apply, lambda value: np.asarray(value, dtype))


def fold_along(op: Operation, array: Array, axis: int) -> Array:
    """An array folded along an axis with what `op` folds with, in order: an exact pass changes no bit of it."""
    monoid, type_ = monoid_of(op), op.results[0].type
    if not array.shape[axis]:
        return np.full(np.delete(array.shape, axis), monoid.identity(type_), dtype_of(type_))
    merge = POINTWISE[monoid.operation(type_)]
    assert isinstance(merge, np.ufunc)
    return np.asarray(merge.accumulate(array, axis=axis, dtype=array.dtype).take(-1, axis=axis))


def sum_along(array: Array, axis: int) -> Array:
    """A sum in the order of the axis, whatever lies where in memory."""
    if not array.shape[axis]:
        return np.asarray(np.sum(array, axis=axis))
    return np.asarray(np.add.accumulate(array, axis=axis, dtype=array.dtype).take(-1, axis=axis))


def top_along(score: Array, where: Array, axis: int, count: int) -> Array:
    """The places along an axis by their scores, the largest first, NaN before it; -1 behind the last, and for NaN."""
    order = np.lexsort((-score, ~np.isnan(score), ~where), axis=axis)  # stable
    found = np.where(np.take_along_axis(where & ~np.isnan(score), order, axis), order, -1)
    shape = (*score.shape[:axis], count, *score.shape[axis + 1 :])
    result = np.full(shape, -1)
    first = tuple(slice(min(count, score.shape[axis]) if n == axis else None) for n in range(score.ndim))
    result[first] = found[first]
    return result


def constant_array(value: Attribute) -> Array:
    """A number of the IR as an array."""
    assert isinstance(value, (IntegerAttr, FloatAttr))
    return np.asarray(value.value.data, dtype_of(value.type))


def rounded(array: Array, element: str) -> Array:
    """Numbers rounded to a smaller type."""
    return decode(encode(array, element), element).astype(array.dtype)


def dtype_of(type_: Attribute) -> Any:
    """What NumPy calls a type of values."""
    if type_ == index:
        return np.int64
    if type_ == i1:
        return np.bool_
    return np.float64 if type_ == f64 else np.float32
