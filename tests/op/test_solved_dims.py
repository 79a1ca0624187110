"""Dims that no extent tells by itself: solved at a call, checked there, and found by generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.op import errors
from attndsl.op.errors import CallError
from attndsl.op.op import Op

LENGTHS = "attention lengths { dims B input cu : i32[B + 1] output n : f32[B] each b in B n[b] = cu[b + 1] - cu[b] }"

PAIRS = """
attention pairs {
    dims B, D
    input  x : u8[2 * B, D / 2]
    output o : f32[B, D]
    require D % 2 == 0
    each b in B, d in D
    o[b, d] = x[2 * b, d / 2] + x[2 * b + 1, d / 2]
}
"""


@pytest.fixture(scope="module")
def lengths() -> Op:
    return attndsl.compile(LENGTHS)


@pytest.fixture(scope="module")
def pairs() -> Op:
    return attndsl.compile(PAIRS)


@pytest.mark.parametrize("cu", [[0, 2, 2, 7], [0, 4], [5]])
def test_a_dim_with_a_number_added(lengths: Op, cu: list[int]) -> None:
    np.testing.assert_array_equal(lengths(cu=np.array(cu, np.int32)), np.diff(cu))
    assert "B = cu.shape[0] - 1" in lengths.source


@pytest.mark.parametrize(("b", "d"), [(1, 2), (3, 4), (0, 6), (2, 0)])
def test_dims_with_a_factor_and_a_division(pairs: Op, b: int, d: int) -> None:
    x = np.arange(2 * b * d // 2, dtype=np.uint8).reshape(2 * b, d // 2)
    np.testing.assert_array_equal(pairs(x=x), np.repeat(x[::2].astype(np.float32) + x[1::2], 2, axis=1))


@pytest.mark.parametrize(
    ("op", "given", "message"),
    [
        ("lengths", np.zeros(0, np.int32), "cu has 0 in dimension 0, but lengths wants B + 1, and no B of 0 or more"),
        ("pairs", np.zeros((3, 2), np.uint8), "x has 3 in dimension 0, but pairs wants 2 * B, and no B of 0 or more"),
    ],
)
def test_an_extent_that_no_dim_gives(op: str, given: Any, message: str, request: pytest.FixtureRequest) -> None:
    function = request.getfixturevalue(op)
    with pytest.raises(CallError) as raised:
        function(**{function.signature.inputs[0].name: given})
    assert type(raised.value) is errors.NoDimGives
    assert str(raised.value).startswith(message)


def test_other_extents_are_held_to_a_solved_dim() -> None:
    text = LENGTHS.replace("output", "input other : i32[B + 1] output")
    cu = np.zeros(4, np.int32)
    with pytest.raises(errors.WrongExtent, match=r"other has 3 .* wants B \+ 1 = 4; here B = 3 \(from cu\)"):
        attndsl.compile(text)(cu=cu, other=cu[:3])


def test_torch_solves_while_it_traces(lengths: Op) -> None:
    torch = pytest.importorskip("torch")
    traced = torch.compile(lambda cu: lengths(cu=cu) + 1, fullgraph=True, dynamic=True, backend="eager")
    for cu in ([0, 2, 2, 7], [0, 4, 5, 5, 5]):
        np.testing.assert_array_equal(traced(torch.tensor(cu, dtype=torch.int32)), np.diff(cu) + 1)
