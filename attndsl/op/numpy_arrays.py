"""NumPy arrays as a call takes and gives them.

A type that NumPy lacks travels as its bits: bf16 in uint16, the 8-bit floats in uint8. Arrays of ml_dtypes, which add
such types to NumPy, are viewed as bits on the way in, and outputs viewed as them on the way out; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from attndsl.op.checks import Given

STORAGE: dict[str, type[np.generic]] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
    "f8e4m3": np.uint8,
    "f8e5m2": np.uint8,
    "i8": np.int8,
    "u8": np.uint8,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}
"""The NumPy type that holds each element type."""

EXTENSIONS = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
"""The element types that ml_dtypes adds to NumPy, by their names there."""

_ELEMENTS = {
    np.dtype(storage): tuple(element for element, other in STORAGE.items() if other is storage)
    for storage in STORAGE.values()
}


def is_array(value: object) -> bool:
    """Whether a value is a plain array: a subclass may mean more than its memory, as a masked array does."""
    return type(value) in (np.ndarray, np.memmap)


def describe(array: np.ndarray[Any, Any]) -> Given:
    """What an array gives to a call."""
    extension = EXTENSIONS.get(array.dtype.name)
    elements = (extension,) if extension else _ELEMENTS.get(array.dtype, ())
    return Given(elements, str(array.dtype), array.shape)


def bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory as the compiled function takes it."""
    extension = EXTENSIONS.get(array.dtype.name)
    return array.view(STORAGE[extension]) if extension else array


def like(output: np.ndarray[Any, Any], element: str, inputs: Iterable[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """An output in the caller's terms: bf16 as an ml_dtypes array where an input is one."""
    for array in inputs:
        if EXTENSIONS.get(array.dtype.name) == element:
            return output.view(array.dtype)
    return output
