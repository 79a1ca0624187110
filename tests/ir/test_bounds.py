"""Bounds of a launch's integers: the attribute of a kernel, and what the interpreter makes of a wrong one."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.ir.bounds import Bound, Factor, bounds_attribute, bounds_of, largest
from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret

M, WINDOW, STRIDE = Factor("dim", "M"), Factor("param", "window"), Factor("stride", "x", 1)

KERNEL = """
spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k bounds {bounds} {{
  %size = arith.constant 4 : index
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %i_in = arith.cmpi slt, %i, %M : index
  %x = tile.load @x[%i] where %i_in : f32
  tile.store @o[%i] = %x where %i_in : f32
  tile.narrow {values}
}}
"""


def test_a_bound_reads_back() -> None:
    bound = Bound({(): 4, (M,): 2, (M, WINDOW): 1, (STRIDE,): 512})
    assert bounds_of(bounds_attribute(bound)) == bound


def test_a_bound_is_a_number_at_a_launch() -> None:
    bound = Bound({(): 4, (M,): 2, (M, WINDOW): 1, (STRIDE,): 512})
    assert largest(bound, {"M": 10}, {"window": -3}) == 4 + 20 + 30


@pytest.mark.parametrize("values", ["%i : index", "%i_in : i1"])
def test_integers_beyond_the_bounds_are_caught(values: str) -> None:
    def run(bounds: str) -> None:
        interpret(
            parse_module(KERNEL.format(bounds=bounds, values=values)), {"x": np.ones(10, np.float32)}, {"M": 10}, {}
        )

    run('[[1 : index, "M"]]')
    with pytest.raises(AssertionError, match="fits the bounds"):
        run("[[8 : index]]")
