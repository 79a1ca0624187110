"""Between which numbers a real number lies that is made of constants and extents."""

from __future__ import annotations

from math import inf

import pytest

from attndsl.ir.context import parse_module
from attndsl.ir.magnitudes import Magnitudes

HEAD = """
spec.tensor @x "input" "f32" ["D"]
spec.parameter @p f32
tile.kernel @k {
  %D = spec.dim "D"
  %real = spec.to_float %D : f32
  %root = math.sqrt %real : f32
  %quarter = arith.constant -0.25 : f32
  %zero = arith.constant 0.0 : f32
  %p = spec.param "p" : f32
"""

FOUND = {
    "arith.divf %quarter, %quarter": (1.0, 1.0),
    "arith.mulf %quarter, %quarter": (0.0625, 0.0625),
    "arith.negf %quarter": (0.25, 0.25),
    "math.sqrt %real": (1.0, 2.0**24),
    "arith.divf %quarter, %root": (2.0**-26, 0.25),
    "arith.divf %root, %zero": (inf, inf),
    "arith.mulf %zero, %p": (0.0, 0.0),
    "arith.mulf %root, %p": (0.0, inf),
    "arith.addf %root, %root": (0.0, inf),
}
"""Formulas, and the least and the largest magnitude that they can have; extents are at most 2^48."""


@pytest.mark.parametrize("formula", FOUND)
def test_magnitudes_of(formula: str) -> None:
    text = f"{HEAD}  %t = {formula} : f32\n  tile.store @x[%D] = %t : f32\n}}"
    stored = next(op for op in parse_module(text, "magnitudes").walk() if op.name == "tile.store")
    assert Magnitudes()(stored.operands[-1]) == FOUND[formula]
