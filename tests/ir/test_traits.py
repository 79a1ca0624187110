"""What operations say of themselves: monoids are monoids, and no operation that reduces forgets to say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.backends.numpy.pointwise import NUMPY_REDUCTIONS
from attndsl.backends.triton.pointwise import TRITON_REDUCTIONS
from attndsl.checking.typed import FOLDS as TYPED
from attndsl.ir import attn, monoids, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.build import FOLDS as BUILT
from attndsl.ir.context import parse_module
from attndsl.ir.meaning import POINTWISE
from attndsl.ir.monoids import Monoid
from attndsl.ir.traits import Binds, Folds, Removes, monoid_of
from attndsl.ir.xdsl import Attribute, IRDLOperation, f32, i1, index
from attndsl.reference.operators import ON_ARRAYS

MONOIDS = {name: each for name, each in vars(monoids).items() if isinstance(each, Monoid)}

SAMPLES: dict[Attribute, np.ndarray[Any, Any]] = {
    f32: np.array([-np.inf, -3.0, 0.0, 2.0, np.nan]),
    index: np.array([-(2**63), -5, 0, 7, 2**63 - 1]),
    i1: np.array([False, True]),
}


def kinds(monoid: Monoid) -> list[Attribute]:
    given = {f32: monoid.of_reals, index: monoid.of_integers, i1: monoid.of_truths}
    return [type_ for type_, operation in given.items() if operation is not None]


@pytest.mark.parametrize(("monoid", "type_"), [(m, t) for m in MONOIDS.values() for t in kinds(m)])
def test_a_monoid_has_an_identity_and_any_bracketing(monoid: Monoid, type_: Attribute) -> None:
    merge, values = POINTWISE[monoid.operation(type_)], SAMPLES[type_]
    empty = values.dtype.type(monoid.identity(type_))
    np.testing.assert_array_equal(merge(values, empty), values)
    np.testing.assert_array_equal(merge(empty, values), values)
    a, b, c = np.meshgrid(values, values, values)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(merge(merge(a, b), c), merge(a, merge(b, c)))


@pytest.mark.parametrize("monoid", MONOIDS.values(), ids=list(MONOIDS))
def test_a_tile_is_reduced_with_every_monoid(monoid: Monoid) -> None:
    assert tile.reduction(monoid).get_trait(Folds) == Folds(monoid)
    combining = {monoid.operation(type_) for type_ in kinds(monoid)}
    for target, rows in (("numpy", NUMPY_REDUCTIONS), ("triton", TRITON_REDUCTIONS)):
        assert combining <= rows.keys(), f"backends/{target}/pointwise.py"


def test_operations_say_what_they_reduce() -> None:
    for op in (*attn.ATTN.operations, *tile.TILE.operations):
        assert issubclass(op, IRDLOperation)
        definition = op.get_irdl_definition()
        reduces = definition.results and any(name == "over" for name, _ in definition.operands)
        assert op.has_trait(Removes) == bool(reduces), op.name
        if issubclass(op, attn.IndexOp | tile.RangeOp):
            assert op.has_trait(Binds)
        if issubclass(op, attn.ReduceOp | attn.ReduceAxisOp | tile.ReduceOp):
            assert op.has_trait(Folds)


def test_the_language_and_the_ir_fold_alike() -> None:
    assert set(TYPED) == set(BUILT)
    for name, fold in TYPED.items():
        folds = BUILT[name].keys.get_trait(Folds)
        assert folds is not None
        assert BUILT[name].axis.get_trait(Folds) == folds
        assert folds.monoid.identity(f32) == fold.empty
        a, b = np.meshgrid(SAMPLES[f32], SAMPLES[f32])
        merged = POINTWISE[folds.monoid.operation(f32)](a, b)
        np.testing.assert_array_equal(merged, ON_ARRAYS[fold.merge](a, b))


def test_a_sum_of_a_stream_has_the_axes_of_its_own_value_and_of_the_score() -> None:
    module = parse_module("""
        spec.tensor @s "input" "f32" ["M", "N"]
        spec.tensor @v "input" "f32" ["N", "D"]
        spec.tensor @o "output" "f32" ["M", "D"]
        attn.kernel @k {
          %M = spec.dim "M"
          %N = spec.dim "N"
          %D = spec.dim "D"
          %i = attn.each "i" to %M
          %j = attn.over "j" to %N
          %d = attn.axis "d" to %D
          %x = attn.read @s[%i, %j] : f32
          %y = attn.read @v[%j, %d] : f32
          %m, %l, %a, %b = attn.stream %x, (%x, %y) over %j : f32, f32, (f32, f32)
          attn.write @o[%i, %d] = %b : f32
        }
    """)
    module.verify()
    found, axes = {op.name: op for op in module.walk()}, AxesAnalysis()
    i, d = found["attn.each"].results[0], found["attn.axis"].results[0]
    assert [axes(result) for result in found["attn.stream"].results] == [{i}, {i}, {i}, {i, d}]
    with pytest.raises(AssertionError, match=r"attn\.stream folds no value"):
        monoid_of(found["attn.stream"])
