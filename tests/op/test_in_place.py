"""Calls that write their inouts: what is written, what a call gives, and what is refused in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import attndsl
from attndsl.op import errors
from attndsl.op.op import Op

APPENDS = """attention appends {
    dims B, M, S, D
    types T
    input x     : T[B, M, D]
    input past  : i32[B]
    inout cache : T[B, S, D]
    each b in B, i in M
    cache[b, past[b] + i, :] = x[b,i,:]
}"""

SUMS = """attention sums {
    dims N, D
    input  x     : f32[N, D]
    inout  total : f32[N]
    output o     : f32[N]
    each i in N
    o[i] = total[i]
    each i in N, d in D
    total[i] += x[i,d]
}"""

CONVERT: dict[str, Callable[[Any], Any]] = {"numpy": lambda array: array, "torch": torch.from_numpy}


@pytest.fixture(params=CONVERT)
def convert(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return CONVERT[request.param]


@pytest.fixture(scope="module")
def appends() -> Op:
    return attndsl.compile(APPENDS)


@pytest.fixture(scope="module")
def sums() -> Op:
    return attndsl.compile(SUMS)


X, PAST = np.arange(1, 13, dtype=np.float32).reshape(2, 2, 3), np.array([1, 3], np.int32)


def appended(x: Any = X, past: Any = PAST) -> Any:
    cache = np.zeros((2, 4, 3), x.dtype)
    for b, i in np.ndindex(2, 2):
        if past[b] + i < 4:
            cache[b, past[b] + i] = x[b, i]
    return cache


def test_a_call_writes_in_place_and_gives_nothing_else(appends: Op, convert: Callable[[Any], Any]) -> None:
    cache = convert(np.zeros((2, 4, 3), np.float32))
    for _ in range(3):  # checked, then planned
        assert appends(convert(X), convert(PAST), cache) is None
        np.testing.assert_array_equal(cache, appended())
        cache[...] = 0


def test_outputs_stand_beside_what_is_written(sums: Op, convert: Callable[[Any], Any]) -> None:
    x, total = convert(np.array([[1, 2], [3, 4]], np.float32)), convert(np.array([10, 20], np.float32))
    out = convert(np.full(2, np.nan, np.float32))
    assert sums(x, total).tolist() == [10, 20] and total.tolist() == [13, 27]
    assert sums(x, total).tolist() == [13, 27] and total.tolist() == [16, 34]
    assert sums(x, total, out=out) is out
    assert out.tolist() == [16, 34] and total.tolist() == [19, 41]


def test_any_strides_will_do(appends: Op, convert: Callable[[Any], Any]) -> None:
    wide = np.full((4, 2, 6), 7, np.float32)
    cache = convert(wide.transpose(1, 0, 2)[..., 1::2])
    cache[...] = 0
    appends(convert(X), convert(PAST), cache)
    np.testing.assert_array_equal(cache, appended())
    assert (wide[..., ::2] == 7).all()


def test_a_type_that_numpy_lacks_is_written_in_place(appends: Op) -> None:
    cache = np.zeros((2, 4, 3), ml_dtypes.bfloat16)
    appends(X.astype(ml_dtypes.bfloat16), PAST, cache)
    np.testing.assert_array_equal(cache, appended().astype(ml_dtypes.bfloat16))
    tensor = torch.zeros(2, 4, 3, dtype=torch.bfloat16)
    appends(torch.from_numpy(X).bfloat16(), torch.from_numpy(PAST), tensor)
    np.testing.assert_array_equal(tensor.float(), appended())


def test_keys_and_values_may_lie_interleaved_in_one_cache(convert: Callable[[Any], Any]) -> None:
    both = attndsl.compile("""attention both {
        dims N, D
        input x : f32[N, D]
        inout k : f32[N, D]
        inout v : f32[N, D]
        each i in N
        k[i,:] = x[i,:]
        v[i,:] = -x[i,:]
    }""")
    cache, x = convert(np.zeros((3, 2, 4), np.float32)), convert(np.ones((3, 4), np.float32))
    both(x, cache[:, 0], cache[:, 1])
    assert (cache[:, 0] == 1).all() and (cache[:, 1] == -1).all()
    with pytest.raises(errors.InoutOverlaps, match=re.escape("k is memory that is, or may be, that of v too")):
        both(x, cache[:, 0], cache[:, 0])


def test_what_may_not_be_written_is_refused_and_left(appends: Op, sums: Op, convert: Callable[[Any], Any]) -> None:
    total = np.zeros(2, np.float32)
    x = (
        np.broadcast_to(total[:, None], (2, 2))
        if convert is CONVERT["numpy"]
        else torch.from_numpy(total)[:, None].expand(2, 2)
    )
    with pytest.raises(errors.InoutOverlaps, match="total is memory that is, or may be, that of x too"):
        sums(x, convert(total))
    cache = convert(np.zeros((1, 4, 3), np.float32))
    spread = (
        np.lib.stride_tricks.as_strided(cache, (2, 4, 3), (0, 12, 4))
        if isinstance(cache, np.ndarray)
        else cache.expand(2, 4, 3)
    )
    with pytest.raises(errors.InoutOverlaps, match="that of another of its elements too"):
        appends(convert(X), convert(PAST), spread)
    assert (cache == 0).all() and (total == 0).all()


def test_memory_that_is_read_only_is_refused(appends: Op, sums: Op) -> None:
    cache = np.zeros((2, 4, 3), np.float32)
    cache.flags.writeable = False
    for _ in range(2):
        with pytest.raises(errors.InoutIsReadOnly, match=re.escape("pass np.array(cache)")):
            appends(X, PAST, cache)


def test_an_array_of_no_dimensions_is_written_and_a_number_is_not() -> None:
    counts = attndsl.compile("attention counts { dims N input x : f32[N] inout n : f32[] each i in N n[] += x[i] }")
    x, given = np.ones(3, np.float32), np.float32(4)
    with pytest.raises(errors.InoutIsReadOnly, match=re.escape("pass np.array(n)")):
        counts(x, given)
    with pytest.raises(errors.NotAnArray, match=r"^n is of type float: counts takes NumPy arrays or torch tensors$"):
        counts(x, 4.0)
    held = np.array(given)
    counts(x, held)
    assert held == 7


def test_torch_is_told_what_is_written(sums: Op) -> None:
    x, total = torch.ones(2, 3), torch.zeros(2)
    before = total._version
    sums(x, total)
    assert total._version > before
    assert sums._tensor_calls is not None
    operator = sums._tensor_calls.known.operator
    assert [argument.is_write for argument in operator._schema.arguments] == [False, True]
    torch.library.opcheck(operator, (x, total))


def test_torch_compile_and_export_keep_the_writes(sums: Op) -> None:
    class Adds(torch.nn.Module):
        def forward(self, x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
            before = sums(x, total)
            return torch.as_tensor(before + total.sum())

    x, eager, compiled, exported = torch.ones(2, 3), *(torch.ones(2) for _ in range(3))
    wanted = Adds()(x, eager)
    torch.testing.assert_close(torch.compile(Adds(), fullgraph=True, backend="aot_eager")(x, compiled), wanted)
    program = torch.export.export(Adds(), (x, exported.clone()))
    torch.testing.assert_close(program.module()(x, exported), wanted)
    for total in (eager, compiled, exported):
        assert total.tolist() == [4, 4]


def test_a_gradient_is_refused_before_anything_is_written(sums: Op) -> None:
    total = torch.zeros(2, requires_grad=True)
    with pytest.raises(errors.GradientWanted, match="total requires a gradient"):
        sums(torch.ones(2, 3), total)
    with torch.no_grad():
        sums(torch.ones(2, 3), total)
    assert total.tolist() == [3, 3]


def test_the_signature_tells(sums: Op) -> None:
    assert sums.signature.in_place == (1,)
    assert str(sums.__signature__) == "(x, total, *, out=None)"
