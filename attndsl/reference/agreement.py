"""How far the output of a compiled spec may be from its reference, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.checking.typed import Kind
from attndsl.storage import ELEMENTS, as_stored, decode, saturated

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The element of an output that uses most of what it is allowed."""

    place: tuple[int, ...]
    got: float
    wanted: float
    error: float
    bound: float
    checked: float = 1.0
    """The share of the output's elements whose bound is finite."""

    @property
    def ok(self) -> bool:
        """Whether rounding explains the error."""
        return self.error <= self.bound

    @property
    def used(self) -> float:
        """The error as a share of its bound."""
        return self.error / self.bound if self.error else 0.0


def compare(element: str, got: Array, wanted: Array, computed: Array) -> Agreement:
    """An output, held as `element`, beside its reference.

    `computed` is what `error_bounds` allows each element before it is stored; storing a float rounds once more, by half
    a step of the type. The error is infinite where one has a NaN or an infinity that the other, rounded to that type,
    has not. Where ints and bools are written each is what the reference has, as that wraps in its type.
    """
    if not wanted.size:
        return Agreement((), 0.0, 0.0, 0.0, 0.0)
    have = decode(got, element)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if wanted.dtype.kind == "f":
            wanted = saturated(wanted, element)
            error, bound = _error(element, have, wanted, computed), computed + half_step(element, wanted, computed)
        else:
            wanted = decode(as_stored(wanted, element), element)
            error = np.where(have == wanted, 0.0, np.maximum(np.abs(have * 1.0 - wanted * 1.0), 1.0))
            bound = computed
        used = np.where(np.isinf(bound) | (error == 0), 0.0, error / bound)
    worst = np.unravel_index(np.argmax(used), used.shape)
    place = tuple(int(n) for n in worst)
    checked = float(np.isfinite(bound).mean())
    return Agreement(place, float(have[worst]), float(wanted[worst]), float(error[worst]), float(bound[worst]), checked)


def _error(element: str, have: Array, wanted: Array, computed: Array) -> Array:
    """How far floats are off, before the type that stores them is considered; not at all where that overflows."""
    error = np.asarray(np.abs(have - wanted))  # of a tensor of one number too
    for edge in (wanted, wanted - computed, wanted + computed):  # each end may round to an infinity
        rounded = decode(as_stored(edge, element), element)
        error[(have == rounded) & ~np.isfinite(rounded)] = 0.0
    error[np.isnan(have) & np.isnan(wanted)] = 0.0
    return np.asarray(np.nan_to_num(error, nan=np.inf, posinf=np.inf))


def stored(element: str, value: Array, error: Array) -> Array:
    """The errors of numbers that are kept as `element`; `value` is what they are, `error` what they are computed with.

    Infinite where the type may have an infinity for a number, or an int of it may be another.
    """
    if ELEMENTS[element].kind is not Kind.FLOAT:
        ends = (decode(as_stored(end, element), element) for end in (value - error, value + error))
        return np.where(np.equal(*ends), 0.0, np.inf) if value.dtype.kind == "f" else error
    finite = np.isfinite(value)
    reach = np.where(finite, np.abs(value) + error, 0.0)
    kept = decode(as_stored(value, element), element)
    exact = (error == 0) & (kept == value)
    rounded = np.where(exact, 0.0, error + half_step(element, value, error))
    return np.where(finite, np.where(np.isfinite(decode(as_stored(reach, element), element)), rounded, np.inf), error)


def half_step(element: str, wanted: Array, computed: Array) -> Array:
    """Half the distance between neighbours of the type, at the largest number that may have been stored."""
    kind = ELEMENTS[element]
    if kind.kind is Kind.INT:
        return np.full(wanted.shape, 0.5)
    largest = np.abs(wanted) + np.where(np.isfinite(computed), computed, 0.0)
    exponent = np.frexp(np.where(np.isfinite(largest), largest, 0.0))[1] - 1
    return np.asarray(np.ldexp(0.5, np.maximum(exponent, kind.lowest_exponent) - kind.mantissa_bits))
