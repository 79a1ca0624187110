"""What a kernel says of its values: the interpreter finds out where it is not so."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret

KERNEL = """
spec.tensor @x "input" "f32" ["M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {{
  %size = arith.constant 4 : index
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %behind = arith.subi %i, %size : index
  %x = tile.load @x[%i] : f32
  tile.store @o[%i] = %x : f32
  {said}
}}
"""


def test_a_negative_number_that_is_said_to_be_none_is_caught() -> None:
    def run(value: str) -> None:
        module = parse_module(KERNEL.format(said=f"tile.unsigned {value} : index"))
        interpret(module, {"x": np.ones(10, np.float32)}, {"M": 10}, {})

    run("%i")
    with pytest.raises(AssertionError, match=r"tile\.unsigned"):
        run("%behind")


def test_keys_beyond_those_that_tiles_are_said_to_cover_are_caught() -> None:
    loop = """
      %c0 = arith.constant 0 : index
      tile.loop %n0 = %c0 to %M step %size {{
        %n = tile.range "n" from %n0 to %M size %size
        tile.yield
      }}
      tile.covers rows %i0 keys {keys} by %size
    """

    def run(keys: str) -> None:
        module = parse_module(KERNEL.format(said=loop.format(keys=keys)))
        interpret(module, {"x": np.ones(10, np.float32)}, {"M": 10}, {})

    run("%M")
    with pytest.raises(AssertionError, match=r"tile\.covers"):
        run("%size")
