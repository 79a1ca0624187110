"""What loops carry, and choices give, that nothing needs."""

from __future__ import annotations

import pytest

from attndsl.ir import tile
from attndsl.ir.carried import remove_unneeded
from attndsl.ir.context import parse_module
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import ModuleOp, scf

HEAD = """
spec.tensor @o "output" "f32" ["N"]
spec.tensor @p "output" "f32" ["N"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = arith.constant 0.0 : f32
  %N = spec.dim "N"
  %b = tile.program "b" to %N step %one
"""

PAIR = (
    HEAD
    + """
  %x1, %y1 = tile.loop %j = %zero to %N step %one iter_args(%x = %a, %y = %a) -> (f32, f32) {
    %x2 = math.exp2 %x : f32
    %y2 = USES : f32
    tile.yield %x2, %y2 : f32, f32
  }
  tile.store @o[%b] = %y1 : f32
}
"""
)

NESTED = (
    HEAD
    + """
  %x1 = tile.loop %j = %zero to %N step %one iter_args(%x = %a) -> (f32) {
    %z1 = tile.loop %l = %zero to %N step %one iter_args(%z = %x) -> (f32) {
      tile.store @o[%b] = %z : f32
      %z2 = math.exp2 %z : f32
      tile.yield %z2 : f32
    }
    %x2 = math.exp2 %x : f32
    tile.yield %x2 : f32
  }
}
"""
)

CHOICE = (
    HEAD
    + """
  %yes = arith.cmpi slt, %b, %N : index
  %c1, %d1 = scf.if %yes -> (f32, f32) {
    %e1, %f1 = scf.if %yes -> (f32, f32) {
      scf.yield %a, %a : f32, f32
    } else {
      scf.yield %a, %a : f32, f32
    }
    scf.yield %e1, %a : f32, f32
  } else {
    scf.yield %a, %a : f32, f32
  }
  tile.store @o[%b] = %d1 : f32
}
"""
)


def without(text: str) -> ModuleOp:
    module = parse_module(text, "k")
    (kernel,) = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    remove_unneeded(kernel)
    module.verify()
    return module


@pytest.mark.parametrize(("uses", "carried"), [("math.exp2 %y", 1), ("arith.addf %y, %x", 2)])
def test_what_a_loop_carries_for_itself_goes(uses: str, carried: int) -> None:
    (loop,) = of_kind(without(PAIR.replace("USES", uses)), tile.LoopOp)
    assert len(loop.iter_args) == carried


def test_what_an_inner_loop_begins_with_stays() -> None:
    assert [len(loop.iter_args) for loop in of_kind(without(NESTED), tile.LoopOp)] == [1, 1]


def test_choices_give_what_is_taken() -> None:
    assert [len(choice.results) for choice in of_kind(without(CHOICE), scf.IfOp)] == [1]
