"""Which arrays a mask may write over: none that something still reads, under whatever name."""

from __future__ import annotations

import pytest

from attndsl.backends.numpy.writable import is_writable
from attndsl.ir import tile
from attndsl.ir.context import parse_module

KERNEL = """
    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["N"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %none = arith.constant 0.0 : f32
      %N = spec.dim "N"
      %mixed = arith.cmpi slt, %one, %N : index
      %j = tile.range "j" from %zero to %N size %N
      %i = tile.range "i" from %zero to %N size %N
      %part = tile.range "j" from %zero to %one size %one
      %hidden = arith.cmpi slt, %part, %one : index
      %x = tile.load @x[%j] : f32
      %score = math.exp %x : f32
      BEFORE
      %masked = tile.mask %value along %j with %none where %hidden over %part : f32
      AFTER
      tile.store @o[%j] = %masked : f32
    }"""

SCORE = "%value = math.exp %score : f32"

CHOSEN = """%value = scf.if %mixed -> (f32) {
        %new = math.exp %score : f32
        scf.yield %new : f32
      } else {
        scf.yield %score : f32
      }"""

PASSED_ON = """%value = math.exp %score : f32
      %passed = scf.if %mixed -> (f32) {
        scf.yield %score : f32
      } else {
        scf.yield %value : f32
      }"""

SEEN = """%value = math.exp %score : f32
      %wide = tile.broadcast %value over (%i, %j) : f32 to f32"""

CASES = {
    "a tensor": ("%value = tile.load @x[%j] : f32", "", False),
    "what is read no more": (SCORE, "", True),
    "what is read afterwards": (SCORE, "%late = math.exp %value : f32", False),
    "a choice of what is read no more": (CHOSEN, "", True),
    "a choice of what is read afterwards": (CHOSEN, "%late = math.exp %score : f32", False),
    "what a choice before has": (PASSED_ON, "%late = math.exp %passed : f32", False),
    "what a view shows": (SEEN, "%late = math.exp %wide : f32", False),
}
"""What makes the value that is masked, what reads something afterwards, and whether the mask may write over it."""


@pytest.mark.parametrize("name", CASES)
def test_a_mask_writes_over_what_nothing_reads(name: str) -> None:
    before, after, writable = CASES[name]
    module = parse_module(KERNEL.replace("BEFORE", before).replace("AFTER", after))
    (mask,) = (op for op in module.walk() if isinstance(op, tile.MaskOp))
    assert is_writable(mask.value, mask) == writable
