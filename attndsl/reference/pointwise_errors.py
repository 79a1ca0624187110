"""What rounding does to the pointwise operators: for each, the size of what comes out and a bound of its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attndsl.checking.operators import OPERATORS, Curve
from attndsl.reference.arrays import Array
from attndsl.reference.operators import ON_ARRAYS
from attndsl.reference.rounding import FUNCTION, Errors, Rounding

FLOAT_COMPARISONS = ("feq", "fne", "flt", "fle", "fgt", "fge")
SELECTS = ("iselect", "fselect", "bselect")


def pointwise(
    operator: str, values: Sequence[Array], found: Sequence[Errors], result: Array, rounding: Rounding
) -> Errors:
    """The size and error of an operator's `result`, given its operands' values, sizes and errors."""
    finite = np.isfinite(sum(each.error for each in found))
    if operator in SELECTS:
        chosen = [np.where(values[0], a, b) for a, b in zip(found[1], found[2], strict=True)]
        return Errors(chosen[0], np.where(np.isfinite(found[0].error), chosen[1], np.inf))
    if operator in ("and", "or"):
        reached = values[0] if operator == "and" else ~values[0]
        doubtful = np.isinf(found[0].error) | (reached & np.isinf(found[1].error))
        return Errors(result * 1.0, np.where(doubtful, np.inf, 0.0))
    if operator in FLOAT_COMPARISONS:
        reach = found[0].error + found[1].error
        close = ~(np.abs(values[0] - values[1]) > reach) & (reach > 0)
        return Errors(result * 1.0, np.where(close | ~finite, np.inf, 0.0))
    if operator == "float":
        size = np.abs(result)
        return Errors(
            size, np.where(finite, np.where(result.astype(np.float32) == result, 0, rounding.unit * size), np.inf)
        )
    if result.dtype != np.float64 or operator == "random":  # ints and bools are exact, and so is what is made of them
        return Errors(np.abs(result * 1.0), np.where(finite, 0.0, np.inf))
    size, error, certain = _float(operator, values, found, result, rounding)
    return rounding.settled(result, size, np.where(finite, error, np.inf), np.asarray(finite & certain))


def _float(
    operator: str, values: Sequence[Array], found: Sequence[Errors], result: Array, rounding: Rounding
) -> tuple[Array, Array, Array]:
    """Size, error, and where a result that is not finite is certain."""
    certain = np.ones(result.shape, bool)
    match OPERATORS[operator].curve:
        case Curve(monotone=True) as curve:
            return _monotone(operator, curve, values[0], found[0], result, rounding)
        case Curve(poles=True):
            return _between_poles(values[0], found[0].error, result, rounding)
        case Curve():
            return np.abs(result), np.minimum(found[0].error, 2.0) + FUNCTION * rounding.unit, certain
    if operator in ("fneg", "fabs"):
        return found[0].size, found[0].error, certain
    if len(values) != 2:
        raise KeyError(f"no errors of {operator}")
    (a, b), (left, right) = values, found
    broken = ~(np.isfinite(a) & np.isfinite(b))
    match operator:
        case "fmin" | "fmax":
            return np.maximum(left.size, right.size), np.maximum(left.error, right.error), broken
        case "fadd" | "fsub":
            size = left.size + right.size
            return size, left.error + right.error + rounding.unit * size, broken
        case "fmul":
            size = _product(left.size, right.size)
            error = _product(np.abs(a), right.error) + _product(np.abs(b), left.error) + left.error * right.error
            return (
                size,
                error + rounding.unit * size + rounding.tiny * (size > 0),
                broken & _away(a, left) & _away(b, right),
            )
        case "fdiv":
            size = left.size / np.abs(b)
            near = np.abs(b) - right.error
            error = (left.error + np.abs(result) * right.error) / near + FUNCTION * rounding.unit * size
            error = error + np.where(1 / np.abs(b) < rounding.tiny, np.abs(result), 0.0) + rounding.tiny * (size > 0)
            return size, np.where(near > 0, error, np.inf), broken & (np.abs(b) > right.error)
    raise KeyError(f"no errors of {operator}")


def _monotone(
    operator: str, curve: Curve, x: Array, found: Errors, result: Array, rounding: Rounding
) -> tuple[Array, Array, Array]:
    """Functions that only rise or only fall: the error of the operand moves the result between two values."""
    function: Callable[[Array], Array] = ON_ARRAYS[operator]
    finite = np.isfinite(x)
    off = found.error
    if operator in ("exp", "exp2"):  # a scale of the exponent is rounded, as is the change of its base
        off = off + np.where(finite, 3 * rounding.unit * found.size, 0.0)
    error = np.where(off > 0, np.maximum(np.abs(function(x + off) - result), np.abs(function(x - off) - result)), 0.0)
    if not curve.exact:
        error = error + FUNCTION * rounding.unit * (np.abs(result) + curve.near_one) + rounding.tiny
    if curve.approximate:
        error = error + rounding.function * np.abs(result)
    size = found.size if operator == "relu" else np.abs(result)
    return size, np.where(np.isnan(error), np.inf, error), ~finite | (found.error == 0)


def _between_poles(x: Array, off: Array, result: Array, rounding: Rounding) -> tuple[Array, Array, Array]:
    """A tangent: the quotient of a sine and a cosine, each off by what functions are, and of no bound near a pole."""
    low, high = np.tan(x - off), np.tan(x + off)
    moved = np.where(off > 0, np.maximum(np.abs(low - result), np.abs(high - result)), 0.0)
    unit, cosine = FUNCTION * rounding.unit, np.abs(np.cos(x)) - off
    parted = np.floor((x - off) / np.pi - 0.5) != np.floor((x + off) / np.pi - 0.5)
    sure = ~parted & (cosine > 4 * unit)
    error = moved + unit * (1 + 2 * np.abs(result)) / np.where(sure, cosine, 1.0)
    return np.abs(result), np.where(sure, error, np.inf), ~np.isfinite(x)


def _product(a: Array, b: Array) -> Array:
    """A product in which 0 makes 0 of whatever it meets."""
    return np.asarray(np.where((a == 0) | (b == 0), 0.0, a * b))


def _away(value: Array, found: Errors) -> Array:
    """Where a value is not 0, whatever its error, nor a sum of terms of both signs.

    A pass may multiply an infinity that meets 0 with a sum, and one that meets a sum with its terms: then infinities of
    both signs meet.
    """
    size = np.abs(value)
    return np.asarray(~np.isfinite(value) | ((size > found.error) & (found.size <= size * (1 + 1e-12))))
