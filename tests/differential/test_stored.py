"""What a compiled program reads is the number that is stored, what it writes the nearest of the type, ties to even."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.storage import ELEMENTS, as_stored, decode
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.stages import compile_program

COPY = "attention copy {{ dims N input x : {read}[N] output y : {written}[N] each i in N y[i] = x[i] }}"

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
    spec = check(Source(COPY.format(read="f64", written=element)))
    case = Case(spec, {}, {"N": len(x)}, {}, {"x": x})
    found = compile_program(spec, {}, rows=len(x)).run(case)["y"]
    np.testing.assert_array_equal(found, as_stored(x, element))


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
@pytest.mark.parametrize("element", ["f16", "bf16", "f8e4m3", "f8e5m2"])
def test_every_number_is_read_as_it_is(element: str, size: int) -> None:
    """Few at a time, and many; with infinities and NaN among them, and without."""
    entry = ELEMENTS[element]
    codes = np.arange(2 ** (8 * entry.itemsize)).astype(f"u{entry.itemsize}").view(entry.dtype)
    spec = check(Source(COPY.format(read=element, written="f32")))
    program = compile_program(spec, {}, rows=size)
    for x in (codes, codes[np.isfinite(decode(codes, element))]):
        x = x[:: max(1, len(x) // 64)] if size < 9 else np.tile(x, -(-size // len(x)))
        found = program.run(Case(spec, {}, {"N": len(x)}, {}, {"x": x}))["y"]
        np.testing.assert_array_equal(found, decode(x, element))
