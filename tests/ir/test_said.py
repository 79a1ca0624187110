"""What a kernel says of its values and loops, where it is not so: the interpreter catches it."""

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
  %i = tile.range "i" from %zero to %M size %M
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


OWN_KEYS = """
spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {{
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %i = tile.range "i" from %zero to %M size %M
  %start = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop {tiles} %j0 = %zero to %M step %two rows from %zero to %i iter_args(%s = %start) -> (f32) {{
    %j = tile.range "j" from %j0 to %M size %two
    %x = tile.load @x[%j] : f32
    %seen = arith.cmpi sgt, %i, %j : index
    %mine = arith.select %seen, %x, %none : f32
    %all = tile.broadcast %x over (%i) : f32 to f32
    %part = tile.sum {summed} over %j : f32 to f32
    %next = arith.addf %s, %part : f32
    tile.yield %next : f32
  }}
  tile.store @o[%i] = %t : f32
}}
"""


@pytest.mark.parametrize("tiles", ["", "mixed"])
def test_a_loop_that_folds_keys_of_other_rows_is_caught(tiles: str) -> None:
    def run(summed: str) -> None:
        module = parse_module(OWN_KEYS.format(tiles=tiles, summed=summed))
        module.verify()
        interpret(module, {"x": np.ones(5, np.float32)}, {"M": 5}, {})

    run("%mine")
    with pytest.raises(AssertionError, match="no keys beyond its ends"):
        run("%all")
