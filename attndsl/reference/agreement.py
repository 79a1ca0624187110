"""How far the output of a compiled spec may be from its reference, and how far it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.storage import decode, encode

Array = np.ndarray[Any, Any]

STEP = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
"""The relative distance of neighbouring numbers of each output type."""

SLACK = 256
"""So many steps of the type that sums are kept in are granted to the order of the sums and to the functions in them."""


def bound(element: str, wanted: Array) -> float:
    """The largest error that rounding explains, for an output of this element type whose reference is `wanted`.

    It grants one step of the output's type, and SLACK steps of the type that computes, each as large as it is for the
    largest number of the output, or for 1 where all are smaller: a small result may be the difference of large ones.
    """
    finite = wanted[np.isfinite(wanted)]
    scale = max(1.0, float(np.abs(finite).max(initial=0.0)))
    return scale * (STEP[element] + SLACK * (STEP["f64"] if element == "f64" else STEP["f32"]))


def largest_error(element: str, got: Array, wanted: Array) -> float:
    """The largest distance of an output, held as `element`, from its reference, rounded to that type.

    Infinite where one has a NaN or an infinity that the other has not.
    """
    have, want = decode(got, element), decode(encode(wanted, element), element)
    with np.errstate(invalid="ignore"):
        error = np.abs(have - want)
    error[(have == want) | (np.isnan(have) & np.isnan(want))] = 0.0
    return float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max(initial=0.0))
