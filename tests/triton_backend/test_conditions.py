"""Kernels that run only where something holds of a call's extents, and what one of them leaves to the next."""

from __future__ import annotations

from typing import Any

from attndsl.backends.gpu.aot import launches, load
from attndsl.backends.gpu.stand_ins import TORCH, StandIn, stand_in
from attndsl.backends.triton.emit import emit
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.targets import TARGETS
from attndsl.ir.context import parse_module

MODULE = """
spec.tensor @x "input" "f32" ["M", "K"]
spec.tensor @o "output" "f32" ["M"]
spec.tensor @twice "workspace" "f32" ["M", "2 * K"]
attn.kernel @k_other_twice when "M > 2 and M * K < 64" {
  %M = spec.dim "M"
  %i = attn.row "i" to %M
  %zero = arith.constant 0 : index
  %x = attn.read @x[%i, %zero] : f32
  %y = arith.addf %x, %x : f32
  attn.write @twice[%i, %zero] = %y : f32
}
attn.kernel @k_other when "M > 2 and M * K < 64" {
  %M = spec.dim "M"
  %i = attn.row "i" to %M
  %zero = arith.constant 0 : index
  %y = attn.read @twice[%i, %zero] : f32
  attn.write @o[%i] = %y : f32
}
attn.kernel @k unless "M > 2 and M * K < 64" {
  %M = spec.dim "M"
  %i = attn.row "i" to %M
  %zero = arith.constant 0 : index
  %x = attn.read @x[%i, %zero] : f32
  %y = arith.addf %x, %x : f32
  attn.write @o[%i] = %y : f32
}
"""
"""One of two forms, of which the first leaves in a workspace what its second kernel reads."""


def generated() -> str:
    """The Triton file."""
    module = parse_module(MODULE)
    run_pipeline(module, passes_of(TARGETS["triton"].lowering((16, 16)).tile))
    return emit(module)


def tensors(rows: int, columns: int) -> list[StandIn]:
    """Those of a call."""
    return [stand_in("f32", (rows, columns)), stand_in("f32", (rows,))]


def test_a_call_launches_the_kernels_whose_conditions_hold() -> None:
    module = load(generated(), torch=TORCH)

    def launched(rows: int, columns: int) -> list[Any]:
        return [(kernel.__name__, given) for kernel, _, given, _ in module["k_launches"](*tensors(rows, columns))]

    for rows, columns in ((2, 5), (9, 8)):
        assert [name for name, _ in launched(rows, columns)] == ["k_kernel"]
    (made, left), (name, read) = launched(9, 7)
    assert (made, name) == ("k_other_twice_kernel", "k_other_kernel")
    workspace = stand_in("f32", (9, 14))
    assert workspace in left and workspace in read


def test_code_is_made_for_the_kernels_of_both_forms() -> None:
    found = [launch.kernel for launch in launches(generated(), "k", tensors(2, 5))]
    assert found == ["k_other_twice_kernel", "k_other_kernel", "k_kernel"]
