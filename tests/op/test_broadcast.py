"""Extents that a call may give as 1: what is there stands for all, and nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl.op.errors import CallError
from attndsl.op.op import Op

SPEC = """
attention biased(flip: int = 1) {
    dims M, N, D
    types T

    input  bias : T[M?, N + 1?] = 0.0
    input  q    : T[M, D]
    input  k    : T[N, D]
    output o    : T[M, D]

    each i in M
    over j in N

    score = q[i,:] . k[j,:] + bias[i, j + flip]

    o[i,:] = softmax(score) . k[j,:]
}
"""

RNG = np.random.default_rng(0)
Q, K = (RNG.standard_normal((n, 4), np.float32) for n in (3, 5))


@pytest.fixture(scope="module")
def op() -> Op:
    return attndsl.compile(SPEC)


def biases() -> list[np.ndarray[Any, Any]]:
    return [RNG.standard_normal(shape, np.float32) for shape in ((1, 6), (3, 1), (1, 1), (3, 6))]


@pytest.mark.parametrize("bias", biases(), ids=lambda bias: "x".join(map(str, bias.shape)))
@pytest.mark.parametrize("flip", [1, 2], ids=["in range", "out of range"])
def test_it_is_as_if_it_were_repeated(op: Op, bias: np.ndarray[Any, Any], flip: int) -> None:
    whole = np.ascontiguousarray(np.broadcast_to(bias, (3, 6)))
    wanted = op(whole, Q, K, flip=flip)
    np.testing.assert_array_equal(op(bias, Q, K, flip=flip), wanted)
    np.testing.assert_array_equal(op(q=Q, k=K, bias=bias, flip=flip, out=np.empty((3, 4), np.float32)), wanted)
    tensors = [torch.from_numpy(array) for array in (bias, Q, K)]
    np.testing.assert_array_equal(op(*tensors, flip=flip), wanted)


def test_absent_elements_are_those_of_the_declared_extents(op: Op) -> None:
    """With flip = 2 the last key reads behind the N + 1 that are declared, however many are given."""
    ones = np.ones((1, 1), np.float32)
    assert not np.array_equal(op(ones, Q, K, flip=2), op(ones, Q, K))
    np.testing.assert_allclose(op(ones, Q, K, flip=2), op(ones, Q, K[:4]), rtol=1e-6)


def test_it_may_be_traced(op: Op) -> None:
    tensors = [torch.from_numpy(array) for array in (biases()[1], Q, K)]
    traced = torch.compile(lambda *given: op(*given) + 1, fullgraph=True, backend="eager")
    torch.testing.assert_close(traced(*tensors), op(*tensors) + 1)


def test_extents_of_nothing(op: Op) -> None:
    one = np.ones((1, 1), np.float32)
    assert op(one, Q[:0], K).shape == (0, 4)
    np.testing.assert_array_equal(op(one, Q, K[:0]), 0)


def test_no_other_extent_will_do(op: Op) -> None:
    with pytest.raises(CallError, match="bias has M = 2"):
        op(np.ones((2, 6), np.float32), Q, K)
    with pytest.raises(CallError, match=r"bias : T\[M\?, N \+ 1\?\] = 0.0"):
        op(np.ones((1,), np.float32), Q, K)


def test_no_dim_is_read_off_it() -> None:
    with pytest.raises(attndsl.SpecError, match="no input tells how large `M` is"):
        attndsl.compile(SPEC.replace("T[M, D]\n    input", "T[D, D]\n    input"))


def test_the_first_call_may_be_one_that_torch_compiles() -> None:
    """Of an operator, and of a second one of the same text, which torch knows already."""
    q, k = torch.from_numpy(Q), torch.from_numpy(K)
    bias = torch.from_numpy(biases()[0])
    for _ in range(2):
        fresh = attndsl.compile(SPEC.replace("biased", "biased_first"))
        torch._dynamo.reset()
        compiled = torch.compile(lambda bias, op=fresh: op(bias, q, k), fullgraph=True, backend="eager")
        np.testing.assert_array_equal(compiled(bias), fresh(bias, q, k))
