"""Laws that hold whatever the reference says: what must not change an output, and what must change it how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import DimValue, Spec
from attndsl.inputs import default_dims
from attndsl.reference.agreement import compare
from attndsl.syntax.source import Source
from attndsl.testing import Case, compile_program

Array = np.ndarray[Any, Any]

TILES = ((1, 1), (2, 5), (7, 2), (128, 512))

PARTS = """attention parts {
    dims M, N, D
    input  q   : f32[M, D]
    input  k   : f32[N, D]
    input  v   : f32[N, D]
    input  see : bool[M, N]
    output o   : f32[M, D]
    output lse : f32[M]
    each i in M
    over j in N
    score = q[i,:] . k[j,:]
    o[i,:] = softmax(score, see[i,j]) . v[j,:]
    lse[i] = logsumexp(score, see[i,j])
}"""


def along(spec: Spec, dim: str) -> dict[str, int]:
    """The inputs that have a dim, and as which of their dimensions."""
    return {
        tensor.name: axis
        for tensor in spec.inputs
        for axis, extent in enumerate(tensor.extents)
        if isinstance(extent, DimValue) and extent.name == dim
    }


def resized(case: Case, dim: str, **arrays: Array) -> Case:
    """A call with other arrays, which make a dim larger or smaller."""
    name, axis = next(iter(along(case.spec, dim).items()))
    dims = {**case.dims, dim: arrays[name].shape[axis]}
    return Case(case.spec, case.types, dims, case.params, {**case.arrays, **arrays})


@pytest.mark.parametrize(("name", "dim"), [("mha", "N"), ("encoder", "N"), ("topk_sparse", "K")])
def test_keys_may_stand_in_any_order(name: str, dim: str, spec_of: Any, program_of: Any) -> None:
    case = Case.make(spec_of(name), seed=7)
    order = np.random.default_rng(0).permutation(case.dims[dim])
    moved = {array: np.take(case.arrays[array], order, axis) for array, axis in along(case.spec, dim).items()}
    case.check("numpy", program_of(name).run(case.given(**moved)))


@pytest.mark.parametrize(
    ("name", "dim", "absent"),
    [
        ("encoder", "N", {"valid": False}),
        ("topk_sparse", "K", {"index": -1}),
        ("cross_attention", "N", {}),
        ("padding", "N", {}),
    ],
)
def test_absent_keys_may_be_appended(
    name: str, dim: str, absent: dict[str, Any], spec_of: Any, program_of: Any
) -> None:
    case = Case.make(spec_of(name), seed=8)
    longer = {}
    for array, axis in along(case.spec, dim).items():
        old = case.arrays[array]
        more = np.full_like(np.take(old, [0] * 7, axis), absent.get(array, np.nan if old.dtype.kind == "f" else 0))
        longer[array] = np.concatenate([old, more], axis)
    case.check("numpy", program_of(name).run(resized(case, dim, **longer)))


@pytest.mark.parametrize("name", ["encoder", "gqa", "int8_cache", "mla_latent", "mla_paged", "sinks"])
def test_a_batch_is_its_members_one_by_one(name: str, spec_of: Any, program_of: Any) -> None:
    case = Case.make(spec_of(name), seed=9, dims={"B": 3})
    together = program_of(name).run(case)
    for b in range(3):
        member = {array: np.take(case.arrays[array], [b], axis) for array, axis in along(case.spec, "B").items()}
        alone = program_of(name).run(resized(case, "B", **member))
        for output in together:
            np.testing.assert_array_equal(alone[output], together[output][b : b + 1])


@pytest.mark.parametrize("name", ["alibi", "gqa", "lse", "sliding_window", "t5_bias"])
@pytest.mark.parametrize("shift", [-40.0, 40.0])
def test_a_constant_in_every_score_leaves_softmax_alone(name: str, shift: float, spec_of: Any) -> None:
    spec = spec_of(name)
    assert spec.source.text.count("score = ") == 1
    moved = check(Source(spec.source.text.replace("score = ", f"score = {shift} + "), spec.source.name))
    case = Case.make(spec, seed=10)
    outputs = compile_program(moved, case.types).run(case)
    if "lse" in outputs:
        outputs["lse"] = (outputs["lse"].astype(np.float64) - shift).astype(np.float32)
    case.check("numpy", outputs)


@pytest.mark.parametrize("name", ["causal_start", "sliding_window", "document_mask", "alibi", "qk_clip", "rotary"])
def test_a_row_does_not_change_with_a_key_that_it_does_not_see(name: str, spec_of: Any, program_of: Any) -> None:
    spec = spec_of(name)
    length = {dim: 9 for dim in ("M", "N") if dim in spec.dims}
    case = Case.make(spec, seed=11, dims={**default_dims(spec, given={"B": 1}), **length})
    hidden = {n: a.copy() for n, a in case.arrays.items() if n in ("k", "v")}
    for array in hidden.values():
        array[..., 5:, :] = np.nan
    clean, without = (program_of(name).run(c)["o"] for c in (case, case.given(**hidden)))
    np.testing.assert_array_equal(without[..., :5, :], clean[..., :5, :])
    assert np.isnan(without[..., 5:, :]).any()


@pytest.mark.parametrize("cut", [0, 1, 4, 9])
def test_a_reduction_may_be_cut_anywhere_and_merged(cut: int) -> None:
    spec = check(Source(PARTS))
    case = Case.make(spec, seed=12, dims={"M": 5, "N": 9, "D": 4})
    program = compile_program(spec, case.types)
    parts = []
    for some in (slice(None, cut), slice(cut, None)):
        keys = {"k": case.arrays["k"][some], "v": case.arrays["v"][some], "see": case.arrays["see"][:, some]}
        parts.append(program.run(resized(case, "N", **keys)))
    lse = np.logaddexp(*(part["lse"].astype(np.float64) for part in parts))
    weights = [np.exp(part["lse"] - np.where(np.isneginf(lse), 0, lse)) for part in parts]
    merged = sum(weight[:, None] * part["o"] for weight, part in zip(weights, parts, strict=True))
    assert compare("f64", np.asarray(merged), case.wanted["o"], case.terms).error < 1e-5
    assert compare("f64", lse, case.wanted["lse"], case.terms).error < 1e-5


@pytest.mark.parametrize("tiles", TILES, ids=str)
@pytest.mark.parametrize("name", ["dilated", "gqa", "lse", "mla_projections", "packed_ragged", "softmax_plus_one"])
def test_tiles_do_not_matter(name: str, tiles: tuple[int, int], spec_of: Any, program_of: Any) -> None:
    case = Case.make(spec_of(name), seed=13, hostile=True)
    case.check("numpy", program_of(name, "f32", *tiles).run(case))
