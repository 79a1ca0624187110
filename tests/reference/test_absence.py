"""What is absent, what is not reached, and that neither touches the result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.reference import reference
from attndsl.syntax.source import Source

NAN, INF = math.nan, math.inf
Array = np.ndarray[Any, Any]


def run(text: str, params: dict[str, Any] | None = None, **arrays: Any) -> dict[str, Any]:
    """The outputs of `attention a` with this head and body, as lists; lists of ints are i32, of floats f64."""
    spec = check(Source(f"attention a{text}"))
    given: dict[str, Array] = {}
    for name, values in arrays.items():
        array = np.asarray(values)
        given[name] = array.astype(np.int32) if array.dtype == np.int64 else array
    return {name: output.tolist() for name, output in reference(spec, given, params).items()}


GATHER = """ {
    dims M, N, K, D
    input  index : i32[M, K]
    input  s     : f64[N]
    input  v     : f64[N, D]
    output o     : f64[M, D]
    output lse   : f64[M]
    each i in M
    over t in K
    let j = index[i,t]
    o[i,:] = softmax(s[j]) . v[j,:]
    lse[i] = logsumexp(s[j])
}"""


def test_an_index_out_of_range_leaves_the_key_out() -> None:
    v = [[1.0, 10.0], [3.0, 30.0], [100.0, 100.0]]
    got = run(GATHER, index=[[0, 1], [0, -1], [3, 1], [-3, 2**31 - 1]], s=[0.0, 0.0, 0.0], v=v)
    assert got["o"] == [[2.0, 20.0], [1.0, 10.0], [3.0, 30.0], [0.0, 0.0]]
    assert got["lse"] == pytest.approx([math.log(2), 0.0, 0.0, -INF])


def test_a_negative_index_does_not_count_from_the_end() -> None:
    assert run(GATHER, index=[[-1, -1]], s=[1.0], v=[[5.0, 5.0]])["o"] == [[0.0, 0.0]]


def test_every_index_is_absent_in_an_empty_tensor() -> None:
    got = run(GATHER, index=[[0, 0]], s=np.zeros(0), v=np.zeros((0, 2)))
    assert got == {"o": [[0.0, 0.0]], "lse": [-INF]}


def test_a_value_with_one_absent_element_leaves_the_whole_key_out() -> None:
    text = """ {
        dims N, W
        input  s : f64[N]
        input  v : f64[N, W]
        output o : f64[1, W]
        output p : f64[1, W]
        each i in 1
        over j in N
        let shifted[e in W] = v[j, e + j]
        o[i,:] = softmax(s[j]) . shifted
        p[i,:] = sum(shifted)
    }"""
    got = run(text, s=[0.0, 9.0], v=[[1.0, 2.0], [3.0, 4.0]])
    assert got == {"o": [[1.0, 2.0]], "p": [[1.0, 2.0]]}


def test_absence_goes_through_arithmetic_and_contractions() -> None:
    text = """ {
        dims N, D
        input  x : f64[N, D]
        input  n : i32[N]
        output o : f64[N]
        each i in N
        let y[d in D] = x[i, d + n[i]]
        o[i] = 1.0 + x[i,:] . y
    }"""
    assert run(text, x=[[1.0, 2.0], [1.0, 2.0]], n=[0, 1])["o"] == [6.0, 0.0]


def test_a_contraction_without_terms_is_present() -> None:
    text = """ {
        dims N, D
        input  x : f64[N, D]
        output o : f64[N]
        each i in N
        o[i] = 1.0 + x[i + 5, :] . x[i,:]
    }"""
    assert run(text, x=np.zeros((2, 0)))["o"] == [1.0, 1.0]


DIVISION = """ {
    dims N
    input  a : i32[N]
    input  b : i32[N]
    output q : f64[N]
    output r : f64[N]
    each i in N
    q[i] = 100 + a[i] / b[i]
    r[i] = 100 + a[i] % b[i]
}"""


def test_integer_division_rounds_down_and_is_absent_by_zero() -> None:
    got = run(DIVISION, a=[7, -7, 7, -7, 7, 0], b=[2, 2, -2, -2, 0, 0])
    assert got == {"q": [103, 96, 96, 103, 0, 0], "r": [101, 101, 99, 99, 0, 0]}


def test_a_real_division_by_zero_is_not_absent() -> None:
    text = " { dims N input x : f64[N] output o : f64[N] each i in N o[i] = 1.0 / x[i] }"
    assert run(text, x=[0.0, 2.0])["o"] == [INF, 0.5]


LAZY = """ {
    dims N, K
    input  far  : i32[N]
    input  flag : bool[K]
    input  x    : f64[K]
    output both : f64[N]
    output some : f64[N]
    output pick : f64[N]
    each i in N
    over j in 1
    let k = far[i]
    both[i] = 1.0 + sum(1.0 + j, k < K and flag[k])
    some[i] = 1.0 + sum(1.0 + j, k >= K or flag[k])
    pick[i] = 1.0 + (if k < K then x[k] else 0.25)
}"""


def test_operands_that_do_not_decide_are_not_reached() -> None:
    got = run(LAZY, far=[0, 1, 5, -1], flag=[True, False], x=[0.5, 1.5])
    assert got["both"] == [2.0, 1.0, 1.0, 1.0]
    assert got["some"] == [2.0, 1.0, 2.0, 1.0]
    assert got["pick"] == [1.5, 2.5, 1.25, 0.0]


def test_and_reads_from_the_left() -> None:
    text = """ {
        dims N, K
        input  far  : i32[N]
        input  flag : bool[K]
        output o    : f64[N]
        each i in N
        o[i] = if flag[far[i]] and far[i] > 99 then 2.0 else 1.0
    }"""
    assert run(text, far=[0, 7], flag=[True])["o"] == [1.0, 0.0]


def test_a_condition_that_is_absent_makes_the_choice_absent() -> None:
    text = """ {
        dims N, K
        input  far  : i32[N]
        input  flag : bool[K]
        output o    : f64[N]
        each i in N
        o[i] = if flag[far[i]] then 2.0 else 1.0
    }"""
    assert run(text, far=[0, 1, 2, -1], flag=[True, False])["o"] == [2.0, 1.0, 0.0, 0.0]


def test_a_branch_that_is_not_reached_may_hold_anything() -> None:
    text = """ {
        dims N
        input  x : f64[N]
        input  y : f64[N]
        output o : f64[N]
        each i in N
        o[i] = if i < 1 then x[i] else y[i]
    }"""
    assert run(text, x=[1.0, NAN], y=[INF, 2.0])["o"] == [1.0, 2.0]


def test_an_absent_sink_makes_the_reduction_absent() -> None:
    text = """ {
        dims M, N
        input  at   : i32[M]
        input  s    : f64[N]
        input  sink : f64[1]
        output o    : f64[M]
        each i in M
        over j in N
        o[i] = 5.0 + logsumexp(s[j], sink = sink[at[i]])
    }"""
    assert run(text, s=[0.0], sink=[-INF], at=[0, 1])["o"] == [5.0, 0.0]


def test_integers_wrap_at_64_bits() -> None:
    text = """ {
        dims N
        input  a : i64[N]
        output o : f64[N]
        each i in N
        o[i] = if a[i] + 1 < a[i] then 1.0 else 2.0
    }"""
    spec = check(Source(f"attention a{text}"))
    assert reference(spec, {"a": np.array([2**63 - 1, 5], np.int64)})["o"].tolist() == [1.0, 2.0]
