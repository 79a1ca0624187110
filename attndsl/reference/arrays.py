"""The values of an expression for all values of its variables at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.checking.typed import Index

Array = np.ndarray[Any, Any]
Axes = tuple[Index, ...]


@dataclass(slots=True)  # not frozen, though nothing changes one: that takes three times as long to make
class MaskedArray:
    """What an expression is worth, and where it is present; `value` means nothing elsewhere.

    Both arrays have one dimension for each variable of `axes`, in that order, along which it takes all its values.
    """

    axes: Axes
    value: Array
    present: Array


def union(arrays: Sequence[MaskedArray]) -> Axes:
    """The variables that any of several expressions depends on."""
    return tuple(dict.fromkeys(axis for each in arrays for axis in each.axes))


def along(array: Array, axes: Axes, wanted: Axes) -> Array:
    """An array with a dimension for each of `axes` as one with a dimension for each of `wanted`, new ones of size 1."""
    if axes == wanted:  # as it mostly is
        return array
    count, shape = 0, []
    for axis in wanted:
        has = count < len(axes) and axes[count] is axis
        shape.append(array.shape[count] if has else 1)
        count += has
    if count == len(axes):  # they come in the same order
        return array.reshape(shape)
    ordered = array.transpose([axes.index(axis) for axis in wanted if axis in axes])
    return ordered[tuple(slice(None) if axis in axes else np.newaxis for axis in wanted)]


def broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """An array as one of a shape; that of what has the shape already takes NumPy longer than a sum of small arrays."""
    return array if array.shape == shape else np.broadcast_to(array, shape)
