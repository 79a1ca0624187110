"""What a compiled program writes is rounded once, to the nearest number of the type that holds it, ties to even."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.storage import ELEMENTS, as_stored, decode
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.stages import compile_program

COPY = "attention copy {{ dims N input x : f64[N] output y : {element}[N] each i in N y[i] = x[i] }}"

SHIFTS = (0.0, 2.0**-50, -(2.0**-50), 2.0**-26, -(2.0**-26), 2.0**-14, -(2.0**-14))
"""How far a number is from a tie, of its size: less than f32 can say, as much as that, and more."""


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("element", ["f16", "bf16", "f8e4m3", "f8e5m2"])
def test_a_float64_is_rounded_once(element: str) -> None:
    entry = ELEMENTS[element]
    codes = np.arange(2 ** (8 * entry.itemsize)).astype(f"u{entry.itemsize}")
    values = decode(codes.view(entry.dtype), element)
    grid = np.unique(values[np.isfinite(values)])
    ties = (grid[1:] + grid[:-1]) / 2
    x = np.concatenate([each * (1 + shift) for each in (grid, ties) for shift in SHIFTS])
    spec = check(Source(COPY.format(element=element)))
    case = Case(spec, {}, {"N": len(x)}, {}, {"x": x})
    found = compile_program(spec, {}, rows=len(x)).run(case)["y"]
    np.testing.assert_array_equal(found, as_stored(x, element))
