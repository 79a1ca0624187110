"""The same array laid out otherwise in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = np.ndarray[Any, Any]


def _transposed(array: Array) -> Array:
    """The first dimension is the one whose elements lie together."""
    return np.asfortranarray(array)


def _sliced(array: Array) -> Array:
    """Every other element of a wider array, whose other elements are NaN, -1 or true."""
    wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide.view(np.uint8)[...] = 1 if array.dtype == np.bool_ else 0xFF
    wide[..., 1::2] = array
    return wide[..., 1::2]


def _reversed(array: Array) -> Array:
    """All strides are negative."""
    return np.flip(np.flip(array).copy())


def repeated(array: Array, axes: Collection[int]) -> Array:
    """Some axes have the stride 0: all that lies along them is what is first there."""
    return as_strided(array, strides=[0 if axis in axes else step for axis, step in enumerate(array.strides)])


def _broadcast(array: Array) -> Array:
    """The first dimension has the stride 0."""
    return repeated(array, (0,))


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "transposed": _transposed,
    "sliced": _sliced,
    "reversed": _reversed,
    "broadcast": _broadcast,
}
"""Layouts by name. All keep the values but `broadcast`, which repeats those at index 0 of the first dimension."""


def copied(array: Array) -> Array:
    """A copy in memory of its own, with the strides of the array."""
    ends = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
    if not array.size:
        return array.copy()
    before, behind = -sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    memory = np.zeros(before + behind + array.itemsize, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory.data, before, array.strides)
    copy[...] = array
    return copy


def relay(array: Array, layout: str) -> Array:
    """The array in one of `LAYOUTS`; an array without dimensions or elements stays as it is."""
    return LAYOUTS[layout](array) if array.ndim and array.size else array
