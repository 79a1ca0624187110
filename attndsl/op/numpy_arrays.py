"""NumPy arrays as a call takes and gives them.

A type that NumPy lacks travels as its bits. Arrays of ml_dtypes are viewed as bits on the way in, and outputs viewed as
such arrays on the way out; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from attndsl.op.checks import Given
from attndsl.storage import ELEMENTS, Array, accepts


def is_array(value: object) -> bool:
    """Whether a value is a plain array, or a scalar of NumPy, which stands for an array of no dimensions.

    A subclass may mean more than its memory, as a masked array does.
    """
    return type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)


def describe(array: Array) -> Given:
    """What an array gives to a call."""
    return Given(_elements(array.dtype), str(array.dtype), array.shape)


def bits(array: Array) -> Array:
    """The same memory as the compiled function takes it."""
    return np.asarray(array).view(ELEMENTS[_elements(array.dtype)[0]].dtype)


def empty(shape: tuple[int, ...], element: str) -> Array:
    """An array for an output, as the compiled function takes it."""
    return np.empty(shape, ELEMENTS[element].dtype)


def like(output: Array, element: str, inputs: Iterable[Array]) -> Array:
    """An output in the caller's terms: an array of ml_dtypes where an input of that type is one."""
    for array in inputs:
        if array.dtype.name == ELEMENTS[element].extension:
            return output.view(array.dtype)
    return output


@cache
def _elements(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """The element types that an array of this dtype can hold."""
    return tuple(element for element in ELEMENTS if accepts(element, dtype))
