"""Reads, interpreted: what nothing asks for is read nowhere."""

from __future__ import annotations

import numpy as np

from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret

FAR = """
spec.tensor @x "input" "f32" ["B", "N"]
spec.tensor @o "output" "f32" ["B"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %far = arith.constant 4294967296 : index
  %B = spec.dim "B"
  %b = tile.range "b" from %zero to %B size %B
  %there = arith.cmpi slt, %b, %B : index
  %x = tile.load @x[%b, %far] where %there : f32
  tile.store @o[%b] = %x where %there : f32
}
"""


def test_of_no_places_none_is_read() -> None:
    """A condition of nothing always holds, and an index along other axes may be any."""
    written = interpret(parse_module(FAR), {"x": np.zeros((0, 5), np.float32)}, {"B": 0, "N": 5}, {})
    assert written["o"].shape == (0,)
