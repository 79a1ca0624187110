"""What a kernel says of its values, where it is not so: the interpreter catches it."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret

WITHIN = """
spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %i = tile.lane "i" from %zero to %M size %M
  %x = tile.load @x[%i] : f32
  %p = math.exp %x : f32
  tile.within %p from 0.0 to 1.0 : f32
  tile.store @o[%i] = %p : f32
}
"""


def test_numbers_outside_their_range_are_caught() -> None:
    def run(*x: float) -> None:
        interpret(parse_module(WITHIN), {"x": np.array(x, np.float32)}, {"M": len(x)}, {})

    run(0.0, -1.0, -np.inf, np.nan)
    with pytest.raises(AssertionError, match=r"what tile\.within says"):
        run(0.0, 1e-3)
