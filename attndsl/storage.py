"""Element types as NumPy holds them, and their values as float64.

A type that NumPy lacks is held as its bits: bf16 in uint16, the 8-bit floats in uint8. The arrays of ml_dtypes, which
adds such types to NumPy, are taken too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from attndsl.checking.typed import STORAGE_KINDS, Kind

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """A binary float that NumPy lacks; `finite` says that it has no infinities and its top code alone is NaN."""

    exponent_bits: int
    mantissa_bits: int
    finite: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: the dtype that holds it and, for a float that NumPy lacks, its name in ml_dtypes and layout."""

    name: str
    dtype: np.dtype[Any]
    extension: str | None = None
    layout: SmallFloat | None = None

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self.dtype.itemsize

    @property
    def mantissa_bits(self) -> int:
        """How many bits of a float stand after its point."""
        return self.layout.mantissa_bits if self.layout is not None else int(np.finfo(self.dtype).nmant)

    @property
    def lowest_exponent(self) -> int:
        """The exponent of a float's smallest normal number."""
        return 2 - 2 ** (self.layout.exponent_bits - 1) if self.layout is not None else int(np.finfo(self.dtype).minexp)

    @property
    def highest_exponent(self) -> int:
        """The exponent of a float's largest number."""
        if self.layout is None:
            return int(np.finfo(self.dtype).maxexp) - 1
        return int(2 ** (self.layout.exponent_bits - 1)) - 1 + self.layout.finite

    @property
    def kind(self) -> Kind:
        """The kind of scalar that reading an element gives."""
        return STORAGE_KINDS[self.name]


ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (
        Element("f16", np.dtype(np.float16)),
        Element("bf16", np.dtype(np.uint16), "bfloat16", SmallFloat(8, 7)),
        Element("f32", np.dtype(np.float32)),
        Element("f64", np.dtype(np.float64)),
        Element("f8e4m3", np.dtype(np.uint8), "float8_e4m3fn", SmallFloat(4, 3, finite=True)),
        Element("f8e5m2", np.dtype(np.uint8), "float8_e5m2", SmallFloat(5, 2)),
        Element("i8", np.dtype(np.int8)),
        Element("u8", np.dtype(np.uint8)),
        Element("i16", np.dtype(np.int16)),
        Element("u16", np.dtype(np.uint16)),
        Element("i32", np.dtype(np.int32)),
        Element("u32", np.dtype(np.uint32)),
        Element("i64", np.dtype(np.int64)),
        Element("bool", np.dtype(np.bool_)),
    )
}
"""Every element type by its name."""

WIDE: dict[Kind, np.dtype[Any]] = {
    Kind.FLOAT: np.dtype(np.float64),
    Kind.INT: np.dtype(np.int64),
    Kind.BOOL: np.dtype(np.bool_),
}
"""The dtype that computes with scalars of each kind."""


def accepts(element: str, dtype: np.dtype[Any]) -> bool:
    """Whether an array of this dtype can be a tensor of this element type."""
    entry = ELEMENTS[element]
    return dtype == entry.dtype or (entry.extension is not None and dtype.name == entry.extension)


def element_among(choices: Iterable[str], dtype: np.dtype[Any]) -> str:
    """The first of several element types that an array of this dtype can hold. Raises ValueError where none is."""
    named = list(choices)
    for element in named:
        if accepts(element, dtype):
            return element
    raise ValueError(f"no element type of {', '.join(named)} is held in {dtype}")


def decode(array: Array, element: str) -> Array:
    """The values of an array of this element type: float64, int64 or bool, in the array's shape.

    Raises ValueError where the array cannot be of that type.
    """
    entry = ELEMENTS[element]
    if not accepts(element, array.dtype):
        raise ValueError(f"{element} is held in {entry.dtype}, not in {array.dtype}")
    if entry.layout is not None:
        values: Array = np.asarray(_values(entry.layout)[array.view(entry.dtype)])  # of no axes it is a number
        return values
    return array.astype(WIDE[entry.kind])


def as_stored(values: Array, element: str) -> Array:
    """What a write of values leaves in memory, in the dtype that holds this element type.

    A float is rounded to the nearest number that the type holds, ties to even; one of 8 bits holds its largest number
    where the nearest would be infinite or is out of range, and an int 0 where there is none, for NaN. An int wraps.
    """
    if values.dtype.kind != "f":
        return encode(values, element)
    held = saturated(values, element)
    return encode(np.rint(held) if ELEMENTS[element].kind is Kind.INT else held, element)


def saturated(values: Array, element: str) -> Array:
    """Floats within what a type of 8 bits holds, and 0 for NaN where that holds ints; of other types as they are."""
    entry = ELEMENTS[element]
    if entry.kind is Kind.INT:
        limits = np.iinfo(entry.dtype)
        return np.asarray(np.clip(np.where(np.isnan(values), 0.0, values), limits.min, limits.max))
    if entry.itemsize > 1 or entry.layout is None:
        return values
    codes = _values(entry.layout)
    largest = codes[np.isfinite(codes)].max()
    return np.asarray(np.clip(values, -largest, largest))


def encode(values: Array, element: str) -> Array:
    """Values in the dtype that holds this element type; floats round to nearest, ties to even, and may overflow."""
    entry = ELEMENTS[element]
    if entry.layout is None:
        with np.errstate(over="ignore"):
            return values.astype(entry.dtype)
    return _encode_small(np.asarray(values, np.float64), entry.layout).astype(entry.dtype)


@cache
def _values(layout: SmallFloat) -> Array:
    """The value of every code of a small float."""
    codes = np.arange(2 ** (1 + layout.exponent_bits + layout.mantissa_bits))
    exponent_mask, mantissa_mask = 2**layout.exponent_bits - 1, 2**layout.mantissa_bits - 1
    exponent, mantissa = codes >> layout.mantissa_bits & exponent_mask, codes & mantissa_mask
    fraction = (mantissa + (exponent > 0) * (mantissa_mask + 1)).astype(np.float64)
    values = np.ldexp(fraction, np.maximum(exponent, 1) - exponent_mask // 2 - layout.mantissa_bits)
    top = exponent == exponent_mask
    if layout.finite:
        values[top & (mantissa == mantissa_mask)] = np.nan
    else:
        values[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    return np.asarray(np.where(codes >= codes.size // 2, -values, values))


def _encode_small(values: Array, layout: SmallFloat) -> Array:
    """The code of the nearest small float: of two as near, the one whose last bit is 0.

    From half a step beyond the largest value on the result is infinity, or NaN where the type has none.
    """
    half = 2 ** (layout.exponent_bits + layout.mantissa_bits)
    nan = half - 1
    infinity = nan if layout.finite else half - 2**layout.mantissa_bits
    finite = _values(layout)[:infinity]
    magnitude = np.abs(values)
    ceiling = np.append(finite, 2 * finite[-1] - finite[-2])  # the value that would come next stands for all above
    high = np.clip(np.searchsorted(ceiling, magnitude), 1, infinity)
    below, above = magnitude - ceiling[high - 1], ceiling[high] - magnitude
    code = np.where((below < above) | ((below == above) & (high % 2 == 1)), high - 1, high)
    code = np.where(np.isnan(values), nan, code)
    return np.asarray(code + half * np.signbit(values))
