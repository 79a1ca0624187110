"""Gradients as rows: every one of them counts, and a peer's backward can be called again."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from attndsl.bench import cpu_backward, gradients, peers
from attndsl.bench.contest import Contestant
from attndsl.bench.masks import TILE

COMPILED = peers.compiled


def off(have: Any, right: Any) -> tuple[float, float]:
    return gradients.by_tile(have, {str(number): each.double() for number, each in enumerate(right)})


def test_a_row_without_a_gradient_counts_for_what_it_is() -> None:
    right = torch.ones(2, 3, TILE, 4)
    right[:, :, 0] = 0  # the first query of a causal mask
    have = right.clone()
    have[:, :, 0] = 1e-6
    typical, worst = off(have, [right])
    assert typical == pytest.approx(worst) == pytest.approx(1e-6 / math.sqrt(TILE), rel=0.01)


def test_the_worst_gradient_and_the_worst_tile_are_told() -> None:
    """A tile that is small beside others, and may be cut off, is wrong by what it is itself."""
    right = [torch.ones(1, 2, TILE + 3, 4), torch.ones(2)]
    right[0][:, :, TILE:] = 1e-3
    wrong = right[0].clone()
    wrong[0, 1, TILE:] *= 2
    typical, worst = off([wrong, right[1]], right)
    assert worst == pytest.approx(1) and typical < 1e-3
    assert off([right[0], 1.5 * right[1]], right) == pytest.approx((0.5, 0.5))
    assert off([right[0], torch.zeros(2)], [right[0], torch.zeros(2)]) == (0, 0)
    assert off([right[0], torch.ones(2)], [right[0], torch.zeros(2)]) == (math.inf, math.inf)
    assert off([right[0], torch.tensor([1.0, math.nan])], right) == (math.inf, math.inf)
    with pytest.raises(ArithmeticError, match=r"1 is \(3,\), not \(2,\)"):
        off([right[0], torch.ones(3)], right)


@pytest.mark.parametrize("differentiate", [gradients.backward, gradients.step])
def test_a_call_can_be_made_again(differentiate: gradients.Differentiate) -> None:
    calls = []

    def bind(x: Any) -> Any:
        def call() -> Any:
            calls.append(x)
            return (x["q"] * x["k"]).exp()

        return call

    x = {"q": torch.randn(3), "k": torch.randn(3), "d_o": torch.randn(3)}
    call = differentiate(Contestant("a", bind), ("k",)).bind(x)
    first, second = call(), call()
    torch.testing.assert_close(first, (x["d_o"] * x["q"] * (x["q"] * x["k"]).exp(),))
    assert torch.equal(first[0], second[0])
    assert len(calls) == (1 if differentiate is gradients.backward else 2)
    assert not x["k"].requires_grad


def test_a_wrong_slope_is_told(measure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few numbers among many, and the only ones that are wrong."""
    from attndsl.op.gradients import Derivative

    right = Derivative.backward

    def wrong(self: Any, *given: Any) -> Any:
        found = right(self, *given)
        return {**found, "slope": 1.01 * found["slope"]}

    monkeypatch.setattr(Derivative, "backward", wrong)
    results = measure(cpu_backward.SUITE, [cpu_backward.row("alibi", 64, 16)])
    assert "WRONG" in results.rows[0] and "ours: off by 1.0e-02" in results.failures[0]


@pytest.mark.parametrize("compiles", [False, True], ids=["uncompiled", "compiled"])
def test_what_flexattention_says_to_a_cpu_is_told(
    measure: Any, monkeypatch: pytest.MonkeyPatch, compiles: bool
) -> None:
    """It is refused before anything is compiled, and what torch.compile makes of that is not its reason."""
    if compiles:
        monkeypatch.setattr(peers, "compiled", COMPILED)
    results = measure(cpu_backward.SUITE, [cpu_backward.row("alibi", 64, 16)])
    row = dict(zip([column.name for column in cpu_backward.COLUMNS], results.rows[0], strict=True))
    assert row["FlexAttention"] is None and row["naive / ours"] > 0
    assert "FlexAttention: " in row["notes"] and "FlexAttention does not support backward on CPU" in row["notes"]


def test_buckets_are_t5s() -> None:
    """Each of the first distances has its own, the last one from 128 on."""
    found = gradients.buckets(torch.device("cpu"))
    assert found[:9].tolist() == list(range(9)) and found[-1] == 15 and (found.diff() >= 0).all()
    assert found.unique().tolist() == list(range(16))
