"""Extents made of parameters: dims read off them, outputs as large as they say, and what a call is told else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.op.errors import CallError
from attndsl.op.op import Op

FLAT = """
attention flat(heads: int, kept: int = 2 * heads, causal: bool = true, scale: f32 = 1.0 / D) {
    dims M, D

    input  x    : f32[M, heads * D + 1]
    output sums : f32[M, heads]
    output head : f32[kept + (if causal then 1 else 0)]

    each i in M, h in heads
    sums[i,h] = scale * (sum(d in D) x[i, h * D + d])

    each i in kept
    head[i] = x[0,i]
}
"""

X = np.arange(14, dtype=np.float32).reshape(2, 7)


@pytest.fixture(scope="module")
def flat() -> Op:
    return attndsl.compile(FLAT)


def test_a_dim_is_told_by_an_extent_and_a_parameter(flat: Op) -> None:
    for heads in (2, 3, 6, 1, 2):  # calls with the same extents, one after the other
        sums = flat(X, heads=heads).sums
        np.testing.assert_allclose(sums, X[:, :6].reshape(2, heads, -1).mean(-1), rtol=1e-6)


def test_an_output_is_as_large_as_parameters_say(flat: Op) -> None:
    for kept, causal in ((4, True), (4, False), (7, True), (0, False), (4, True)):
        head = flat(X, heads=2, kept=kept, causal=causal).head
        assert head.tolist() == [*range(kept), *[0] * causal]
    assert flat(X, heads=2).head.shape == (5,)  # what a formula tells
    assert flat(X, heads=3).head.shape == (7,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heads": 0}, "x has 7 in dimension 1, where flat wants heads * D + 1, and that is the same for every D"),
        ({"heads": 4}, "and no D of 0 or more makes that 7; here heads = 4"),
        ({"heads": -1}, "heads is -1, but flat wants an int from 0 to 2^48, as extents are"),
        ({"heads": 2, "kept": -1}, "kept is -1, but flat wants an int from 0 to 2^48"),
        ({"heads": 2, "kept": 2**60}, "kept is 1152921504606846976, but flat wants an int from 0 to 2^48"),
    ],
)
def test_what_does_not_fit_is_told(flat: Op, given: Any, message: str) -> None:
    with pytest.raises(CallError) as raised:
        flat(X, **given)
    assert message in str(raised.value)


def test_an_extent_is_compared_with_what_parameters_give() -> None:
    tensors = "input x : f32[B] input y : f32[B, w + 1] output o : f32[B]"
    op = attndsl.compile(f"attention a(w: int) {{ dims B {tensors} each b in B o[b] = y[b,w] }}")
    assert op(np.zeros(2, np.float32), np.ones((2, 4), np.float32), w=3).tolist() == [1, 1]
    with pytest.raises(CallError, match=r"y has 4 in dimension 1, but a wants w \+ 1 = 3; here w = 2$"):
        op(np.zeros(2, np.float32), np.ones((2, 4), np.float32), w=2)


def test_torch_compiles_a_call_for_any_parameter(flat: Op) -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X)
    compiled = torch.compile(lambda x, heads: flat(x, heads=heads).head, dynamic=True, fullgraph=True, backend="eager")
    for heads in (2, 3, 6):
        np.testing.assert_array_equal(compiled(x, heads), flat(X, heads=heads).head)
