"""How single operations are spelt, where two spellings that look alike differ."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.backends.numpy.emit import emit
from attndsl.ir.context import parse_module

FILLED = """
spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {{
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %p = tile.program "p" to %one step %one
  %i = tile.range "i" from %zero to %M size %M
  %number = arith.constant {number} : f32
  %filled = tile.broadcast %number over (%i) : f32 to f32
  tile.store @o[%i] = %filled : f32
}}
"""


@pytest.mark.parametrize(("number", "spelling"), [(0.0, "np.zeros("), (-0.0, "np.full("), (1.5, "np.full(")])
def test_a_tile_of_one_number(number: float, spelling: str) -> None:
    text = emit(parse_module(FILLED.format(number=number)))
    assert spelling in text
    namespace: dict[str, object] = {}
    exec(compile(text, "<k>", "exec"), namespace)
    o = np.full(3, np.nan, np.float32)
    namespace["k"](np.ones_like(o), o)  # type: ignore[operator]
    assert o.tobytes() == np.full(3, number, np.float32).tobytes()
