"""How far the output of a compiled spec may be from its reference, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.checking.evaluate import Number, evaluate
from attndsl.checking.typed import Expr, Reduce, Spec, Sum, operands, walk
from attndsl.storage import decode, encode

Array = np.ndarray[Any, Any]

MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
"""The bits after the point of each output type."""

LOWEST = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}
"""The exponent of the smallest normal number of each output type."""

STEPS = 32
"""Roundings of the functions around the sums of one output: products, scales, exponentials, a last division."""

STEEPNESS = 8
"""How many times larger an error of a score comes out of the exponential: a rounding of a score of this size."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The element of an output that uses most of what it is allowed: its error, and the bound of it."""

    error: float
    bound: float

    @property
    def ok(self) -> bool:
        """Whether rounding explains the error."""
        return self.error <= self.bound


def compare(element: str, got: Array, wanted: Array, terms: int, weights: Sequence[str] = ()) -> Agreement:
    """An output, held as `element`, beside its float64 reference; `terms` is what `longest_sum` says of it.

    `weights` lists the types to which weights of keys were rounded on the way, where they were. The error is infinite
    where one has a NaN or an infinity that the other, rounded to that type, has not.
    """
    if not wanted.size:
        return Agreement(0.0, float(allowed(element, np.zeros(1), terms, weights)[0]))
    have, rounded = decode(got, element), decode(encode(wanted, element), element)
    with np.errstate(invalid="ignore"):
        error = np.abs(have - wanted)
    error[(have == rounded) & ~np.isfinite(rounded) | (np.isnan(have) & np.isnan(wanted))] = 0.0
    error = np.nan_to_num(error, nan=np.inf, posinf=np.inf)
    bound = allowed(element, wanted, terms, weights)
    worst = np.unravel_index(np.argmax(error / bound), error.shape)
    return Agreement(float(error[worst]), float(bound[worst]))


def allowed(element: str, wanted: Array, terms: int, weights: Sequence[str] = ()) -> Array:
    """The largest error that rounding explains, for each element of an output whose exact values are `wanted`.

    Let u be half a step of the type that computes, f64 for an f64 output and f32 for the others, and n = `terms`.

    - Each addition and each function before the last rounding has a relative error of at most u. A sum of n terms is
      therefore wrong by at most (n - 1) u times the sum of its terms' sizes, in whatever order it is made (Higham,
      "Accuracy and Stability of Numerical Algorithms", 2002, section 4.2); tiles, splits and rescaled partial sums are
      orders, and `STEPS` pays for their rescaling and for the functions around the sums.
    - An error e of a score makes a relative error e of its weight, so the errors of scores come out multiplied by the
      scores' size, for which `STEEPNESS` stands; weights are at most 1, and what they weigh has the size of the
      output's largest element, or 1: a small element may be the difference of large ones, so that the size is the same
      for the whole output.
    - Where weights were rounded to a type of `weights`, each has a relative error of half a step of that type, and so
      has the sum of all that they weigh, by size.
    - Storing rounds once: half a step of the output's type at the element itself.

    Together: half a step at the element + ((n + STEPS) * STEEPNESS * u + half a step of weights) * max(1, largest
    element).
    """
    finite = np.abs(np.where(np.isfinite(wanted), wanted, 0.0))
    unit = 2.0 ** -(MANTISSA["f64" if element == "f64" else "f32"] + 1)
    rounding = max((2.0 ** -(MANTISSA[each] + 1) for each in weights), default=0.0)
    computed = ((terms + STEPS) * STEEPNESS * unit + rounding) * max(1.0, float(finite.max(initial=0.0)))
    exponent = np.maximum(np.frexp(finite)[1] - 1, LOWEST[element])
    return np.asarray(np.ldexp(0.5, exponent - MANTISSA[element]) + computed)


def longest_sum(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> int:
    """How many additions lie behind an output at most, one sum inside another counted with it.

    The largest dim stands for a number of keys that differs from row to row.
    """

    def size(extent: Expr) -> int:
        try:
            return max(0, int(evaluate(extent, dims, params)))
        except ValueError:
            return max(dims.values(), default=0)

    length: dict[Expr, int] = {}
    for block in spec.blocks:
        keys = 1
        for index in block.over:
            keys *= size(index.bound)
        for expr in walk(*(write.value for write in block.writes)):
            inner = max((length[each] for each in operands(expr)), default=0)
            match expr:
                case Sum():
                    inner += size(expr.index.extent)
                case Reduce():
                    inner += keys
            length[expr] = inner
    return max(length.values(), default=0)
