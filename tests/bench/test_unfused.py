"""The truth of the benchmarks is the reference's, on the whole gallery."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from attndsl.bench.inputs import tensors_of
from attndsl.bench.unfused import UnfusedCall, true_gradients, truth
from attndsl.checking.check import check
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing.case import Case

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))
EXTREMES = Path(__file__).parents[1] / "differential/regressions/extremes_of_axes.attn"


def tensors(case: Case) -> dict[str, torch.Tensor]:
    """The arrays of a case as torch tensors."""
    return tensors_of(case.spec, case.arrays, case.types)


@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
@pytest.mark.parametrize("path", [*GALLERY, EXTREMES], ids=lambda path: path.stem)
def test_truth_is_the_references(path: Path, hostile: bool) -> None:
    case = Case.make(check(read_source(path)), "bf16", seed=3, hostile=hostile)
    found = truth(case.spec, tensors(case), case.params)
    for name, wanted in case.wanted.items():
        np.testing.assert_allclose(found[name].numpy(), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gqa", "packed_ragged", "neighbourhood_2d"])
def test_chunks_of_rows_give_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.make(check(read_source(GALLERY[0].with_stem(name))), seed=1)
    call = UnfusedCall(case.spec, tensors(case), case.params, torch.float64)
    for chunk in (1, 50, 10**9):
        np.testing.assert_allclose(call.outputs(chunk)["o"].numpy(), case.wanted["o"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "learned"), [("gqa", "k"), ("alibi", "slope"), ("relative_bias", "bias")])
def test_gradients_are_what_a_difference_of_outputs_says(name: str, learned: str) -> None:
    """Along any direction, in any chunks of rows."""
    case = Case.make(check(read_source(GALLERY[0].with_stem(name))), seed=2)
    given = {n: t.double() if t.is_floating_point() else t for n, t in tensors(case).items()}
    weights = {"o": torch.randn(case.wanted["o"].shape, dtype=torch.float64)}
    found = true_gradients(case.spec, given, case.params, weights, ("q", learned))
    for chunk in (1, 50, 10**9):
        call = UnfusedCall(case.spec, given, case.params, torch.float64)
        for n, gradient in call.gradients(weights, ("q", learned), chunk).items():
            torch.testing.assert_close(gradient, found[n])
    for n, gradient in found.items():
        way = 1e-5 * torch.randn_like(gradient)
        ahead, behind = (
            (truth(case.spec, {**given, n: given[n] + sign * way}, case.params)["o"] * weights["o"]).sum()
            for sign in (1, -1)
        )
        torch.testing.assert_close((ahead - behind) / 2, (gradient * way).sum(), rtol=1e-6, atol=1e-12)


def test_what_is_written_in_place_begins_each_time_from_what_is_given() -> None:
    case = Case.make(check(Source("attention a { dims N inout x : f32[N] each i in N x[i] = 2 * x[i] }")))
    call = UnfusedCall(case.spec, tensors(case), case.params, torch.float64)
    for _ in range(2):
        np.testing.assert_array_equal(call.outputs()["x"].numpy(), case.wanted["x"])


def test_the_largest_intermediate_is_the_scores_or_a_gathered_key() -> None:
    spec = check(read_source(GALLERY[0].with_stem("gqa")))
    shape = {"B": 2, "Hq": 4, "Hkv": 2, "M": 5, "N": 30, "D": 3, "E": 3}
    case = Case.make(spec, dims=shape)
    call = UnfusedCall(spec, tensors(case), {})
    (block,) = spec.blocks
    each = dict(zip(block.each, (2, 4, 5), strict=True))
    assert call.largest(block, {**each, block.over[0]: 30}) == 2 * 4 * 5 * 30
    each = dict(zip(block.each, (2, 4, 1), strict=True))
    assert call.largest(block, {**each, block.over[0]: 30}) == 2 * 4 * 30 * 3
