"""Rows, extents, writes, storage, and what a call must give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.reference import dims_of, reference
from attndsl.storage import encode
from attndsl.syntax.source import Source


def spec_of(body: str, params: str = "") -> Spec:
    return check(Source(f"attention a{params} {{ {body} }}"))


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


RAGGED = spec_of("""
    dims C, M, N
    input  cu     : i32[C]
    input  x      : f64[M]
    input  length : i32[C]
    input  y      : f64[N]
    output o      : f64[M]
    output mean   : f64[C]

    each b in C - 1, i in cu[b + 1] - cu[b]
    o[cu[b] + i] = 100 * (b + 1) + 10 * i + x[cu[b] + i]

    each b in C
    over j in length[b]
    mean[b] = sum(y[j])
""")


def test_extents_that_read_data() -> None:
    x, y = np.arange(6.0), np.array([1.0, 2.0, 4.0])
    got = reference(RAGGED, {"cu": ints(0, 2, 2, 5), "x": x, "length": ints(3, 0, 2, 1), "y": y})
    assert got["o"].tolist() == [100, 111, 302, 313, 324, 0]
    assert got["mean"].tolist() == [7, 0, 3, 1]


def test_extents_stop_at_their_bound_and_at_zero() -> None:
    x, y = np.arange(6.0), np.array([1.0, 2.0, 4.0])
    got = reference(RAGGED, {"cu": ints(4, 99, -5), "x": x, "length": ints(99, -3, 2**31 - 1), "y": y})
    assert got["o"].tolist() == [0, 0, 0, 0, 104, 115]
    assert got["mean"].tolist() == [7, 0, 7]


def test_an_absent_extent_is_zero() -> None:
    spec = spec_of("""
        dims B, K, N
        input  at     : i32[B]
        input  length : i32[K]
        input  y      : f64[N]
        output o      : f64[B]
        each b in B
        over j in length[at[b]]
        o[b] = sum(y[j])
    """)
    arrays = {"at": ints(0, -1, 1), "length": ints(2), "y": np.array([1.0, 2.0, 4.0])}
    assert reference(spec, arrays)["o"].tolist() == [3, 0, 0]


def test_writes_out_of_range_are_dropped_and_the_rest_is_zero() -> None:
    spec = spec_of("""
        dims M, N, D
        input  at : i32[M]
        input  x  : f64[M, D]
        input  y  : f64[N]
        output o  : f64[N, D]
        each i in M
        o[at[i], :] = x[i,:] + y[i]
    """)
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    got = reference(spec, {"at": ints(2, -1, 9, 0), "x": x, "y": np.array([10.0, 20.0, 30.0])})
    assert got["o"].tolist() == [[0, 0], [0, 0], [11, 12]], "row 3 reads y out of range: it writes 0"


def test_several_reductions_and_an_epilogue() -> None:
    spec = spec_of("""
        dims M, N, D
        input  s    : f64[2, M, N]
        input  v    : f64[N, D]
        input  lam  : f64[M]
        input  gate : f64[M, D]
        output o    : f64[M, D]
        each i in M
        over j in N
        o[i,:] = (softmax(s[0,i,j]) . v[j,:] - lam[i] * softmax(s[1,i,j]) . v[j,:]) * sigmoid(gate[i,:])
    """)
    rng = np.random.default_rng(0)
    s, v, lam, gate = (rng.standard_normal(shape) for shape in ((2, 2, 3), (3, 2), (2,), (2, 2)))
    got = reference(spec, {"s": s, "v": v, "lam": lam, "gate": gate})["o"]
    for i in range(2):
        weights = [[math.exp(x) / sum(map(math.exp, s[n, i])) for x in s[n, i]] for n in range(2)]
        for d in range(2):
            first, second = (sum(weights[n][j] * v[j, d] for j in range(3)) for n in range(2))
            assert got[i, d] == pytest.approx((first - lam[i] * second) / (1 + math.exp(-gate[i, d])), rel=1e-13)


def test_parameters_have_defaults() -> None:
    spec = spec_of(
        "dims N input x : f64[N] output o : f64[N] each i in N o[i] = if flag then scale * x[i] else x[i] + by",
        "(by: int, scale: f32 = 0.5, flag: bool = true)",
    )
    x = np.array([2.0, 4.0])
    assert reference(spec, {"x": x}, {"by": 1})["o"].tolist() == [1, 2]
    assert reference(spec, {"x": x}, {"by": 1, "flag": False})["o"].tolist() == [3, 5]
    with pytest.raises(ValueError, match="no value for the parameter `by`"):
        reference(spec, {"x": x})


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2", "i8", "u8", "i32", "i64"])
def test_every_storage_is_read_exactly(element: str) -> None:
    spec = spec_of(f"dims N input x : {element}[N] output o : f64[N] each i in N o[i] = 1.0 * x[i]")
    values = np.array([0.0, 1.0, 2.0, 96.0])
    assert reference(spec, {"x": encode(values, element)})["o"].tolist() == values.tolist()


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_a_type_variable_is_what_the_array_is(element: str) -> None:
    spec = spec_of("dims N types T input x : T[N] output o : T[N] each i in N o[i] = x[i]")
    assert reference(spec, {"x": encode(np.array([1.5, -2.0]), element)})["o"].tolist() == [1.5, -2.0]


DIMS = spec_of("""
    dims B, N
    input  cu : i32[B + 1]
    input  x  : f64[B, N]
    input  y  : f64[N]
    output o  : f64[B]
    each b in B
    over j in N
    o[b] = sum(x[b,j] * y[j]) + cu[b]
""")


def test_dims_come_from_shapes() -> None:
    assert dims_of(DIMS, {"cu": ints(0, 1, 2), "x": np.zeros((2, 5)), "y": np.zeros(5)}) == {"B": 2, "N": 5}


@pytest.mark.parametrize(
    ("cu", "x", "y", "message"),
    [
        (3, (2, 5), (4,), r"`y` is \(5,\)"),
        (2, (2, 5), (5,), r"`cu` is \(3,\)"),
        (3, (2,), (5,), "`x` has 2 dimensions, the array 1"),
        (3, (2, 5), None, "no array for the input `y`"),
    ],
)
def test_shapes_that_do_not_fit(cu: int, x: tuple[int, ...], y: tuple[int, ...] | None, message: str) -> None:
    arrays: dict[str, np.ndarray[Any, Any]] = {"cu": np.zeros(cu, np.int32), "x": np.zeros(x)}
    if y is not None:
        arrays["y"] = np.zeros(y)
    with pytest.raises(ValueError, match=message):
        reference(DIMS, arrays)
