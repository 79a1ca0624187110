"""The pass pad-axes: full axes, and nothing of what lies behind a stop in any result."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.interpret import interpret
from attndsl.ir.keys import conjuncts
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import ModuleOp, arith
from attndsl.testing import Case

from .lowered import GALLERY, gallery_module, lowered, spec_of


def padded(text: str) -> ModuleOp:
    """A module after the pass, and nothing else."""
    module = parse_module(text)
    module.verify()
    run_pipeline(module, parse_pipeline("pad-axes"))
    return module


def reduction(operation: str, type_: str = "f32", storage: str = "f32") -> ModuleOp:
    """One reduction of all of a tensor of 3 elements."""
    to_real = "%t" if type_ == "f32" else "%r"
    convert = "" if type_ == "f32" else "%r = spec.to_float %t : f32"
    return padded(f"""
    spec.tensor @x "input" "{storage}" ["N"]
    spec.tensor @o "output" "f32" ["1"]
    tile.kernel @k {{
      %zero = arith.constant 0 : index
      %N = spec.dim "N"
      %j = tile.range "j" from %zero to %N size %N
      %x = tile.load @x[%j] : {type_}
      %t = {operation} %x over %j : {type_} to {type_}
      {convert}
      tile.store @o[%zero] = {to_real} : f32
    }}
    """)


@pytest.mark.parametrize(
    ("operation", "type_", "storage"),
    [
        ("tile.sum", "f32", "f32"),
        ("tile.max", "f32", "f32"),
        ("tile.min", "f32", "f32"),
        ("tile.max", "index", "i32"),
        ("tile.min", "index", "i32"),
    ],
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_padding_counts_for_nothing(operation: str, type_: str, storage: str, sign: int) -> None:
    values = sign * np.array([3, 5, 4], np.int32 if storage == "i32" else np.float32)
    found = interpret(reduction(operation, type_, storage), {"x": values}, {"N": 3}, {})["o"]
    name = operation.removeprefix("tile.")
    assert found == [getattr(values, name)()]


@pytest.mark.parametrize(("size", "wanted"), [(0, 16), (1, 16), (16, 16), (17, 32), (96, 128), (512, 512)])
def test_sizes_are_the_next_power_of_two(size: int, wanted: int) -> None:
    assert tile.padded(size) == wanted


def test_a_tile_that_is_no_power_of_two_ends_where_it_did() -> None:
    module = padded("""
    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["1"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %six = arith.constant 6 : index
      %N = spec.dim "N"
      %start = arith.constant 0.0 : f32
      %t = tile.loop %j0 = %zero to %N step %six iter_args(%sum = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %six
        %x = tile.load @x[%j] : f32
        %part = tile.sum %x over %j : f32 to f32
        %more = arith.addf %sum, %part : f32
        tile.yield %more : f32
      }
      tile.store @o[%zero] = %t : f32
    }
    """)
    (axis,) = (op for op in module.walk() if isinstance(op, tile.RangeOp))
    assert constant(axis.size) == 16
    assert interpret(module, {"x": np.arange(20, dtype=np.float32)}, {"N": 20}, {})["o"] == [190]


DOT = """
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @y "input" "f32" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i = tile.range "i" from %zero to %M size %M
  %j = tile.range "j" from %zero to %N size %N
  %e = tile.range "e" from %zero to %E size %E
  %x = tile.load @x[%i, %j] : f32
  %p = CHANGED
  %y = tile.load @y[%j, %e] : f32
  %t = tile.dot %p, %y over %j : f32
  tile.store @o[%i, %e] = %t : f32
}
"""


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        ("arith.mulf %x, %x : f32", False),  # 0 * 0
        ("arith.negf %x : f32", False),
        ("math.exp %x : f32", True),  # exp(0) = 1
        ("arith.divf %x, %x : f32", True),  # 0 / 0
    ],
)
def test_a_product_selects_where_its_terms_may_not_be_zero(changed: str, selected: bool) -> None:
    module = padded(DOT.replace("CHANGED", changed))
    (dot,) = (op for op in module.walk() if isinstance(op, tile.DotOp))
    assert isinstance(dot.lhs.owner, arith.SelectOp) == selected
    assert isinstance(dot.rhs.owner, tile.LoadOp)
    arrays = {"x": np.full((2, 3), 2, np.float32), "y": np.ones((3, 5), np.float32)}
    found = interpret(module, arrays, {"M": 2, "N": 3, "E": 5}, {})["o"]
    assert found.shape == (2, 5)
    assert np.unique(found).size == 1
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", GALLERY)
def test_all_axes_are_full_and_every_store_is_guarded(name: str) -> None:
    module = gallery_module(name, "f16")
    axes = [op for op in module.walk() if isinstance(op, tile.RangeOp)]
    assert axes
    for axis in axes:
        size = constant(axis.size)
        assert isinstance(axis.size.owner, tile.PaddedOp) if size is None else size == tile.padded(int(size))
    for op in module.walk():
        if isinstance(op, tile.StoreOp):
            assert conjuncts(op.where) or not AxesAnalysis()(op.value)


@pytest.mark.parametrize("name", ["int4_cache", "neighbourhood_2d", "packed_ragged", "qk_norm", "topk_sparse"])
def test_padded_tiles_mean_the_same(name: str) -> None:
    case = Case.make(spec_of(name), seed=2, hostile=True).poisoned()
    module = lowered(case.spec, case.types, rows=5, keys=7)
    case.check("pad-axes", interpret(module, case.arrays, case.dims, case.params))


def test_a_second_run_changes_nothing_in_a_whole_spec() -> None:
    module = lowered(spec_of("packed_ragged"), {"T": "f16", "I": "i32"})
    once = print_module(module)
    run_pipeline(module, parse_pipeline("pad-axes"))
    assert print_module(module) == once
