"""Reductions over the key positions, beside loops and by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.reference import reference
from attndsl.syntax.source import Source

INF, NAN = math.inf, math.nan

SPEC = check(
    Source("""
    attention reductions {
        dims M, N, E
        input  s     : f64[N]
        input  v     : f64[N, E]
        input  keep  : bool[M, N]
        input  sink  : f64[M]
        output soft  : f64[M, E]
        output sunk  : f64[M, E]
        output lse   : f64[M]
        output lsunk : f64[M]
        output total : f64[M]
        output parts : f64[M, E]
        output top   : f64[M]
        output tops  : f64[M, E]
        output low   : f64[M]
        output lows  : f64[M, E]
        output some  : f64[M]
        output every : f64[M, E]

        each i in M
        over j in N

        mask = keep[i,j]

        soft[i,:]  = softmax(s[j], mask) . v[j,:]
        sunk[i,:]  = softmax(s[j], mask, sink = sink[i]) . v[j,:]
        lse[i]     = logsumexp(s[j], mask)
        lsunk[i]   = logsumexp(s[j], mask, sink = sink[i])
        total[i]   = sum(s[j], mask)
        parts[i,:] = sum(v[j,:], mask)
        top[i]     = max(s[j], mask)
        tops[i,:]  = max(v[j,:], mask)
        low[i]     = min(s[j], mask)
        lows[i,:]  = min(v[j,:], mask)
        some[i]    = if any(s[j] > 2.0, mask) then 1 else 0
        every[i,:] = if all(v[j,:] > 0.0, mask) then 1 else 0
    }
    """)
)


def run(
    s: Sequence[float], v: Sequence[Sequence[float]], keep: Sequence[Sequence[bool]], sink: Sequence[float]
) -> dict[str, Any]:
    width = len(v[0]) if v else 2
    arrays = {
        "s": np.array(s, np.float64),
        "v": np.array(v, np.float64).reshape(len(s), width),
        "keep": np.array(keep, bool).reshape(len(sink), len(s)),
        "sink": np.array(sink, np.float64),
    }
    return {name: output.tolist() for name, output in reference(SPEC, arrays).items()}


def test_all_of_them_against_loops() -> None:
    s, sink = [0.3, -1.2, 2.5, 0.0], [0.7, -3.0, 1.5]
    v = [[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]]
    keep = [[True, True, True, True], [True, False, False, True], [False, False, True, False]]
    got = run(s, v, keep, sink)
    for i in range(3):
        keys = [j for j in range(4) if keep[i][j]]
        z = sum(math.exp(s[j]) for j in keys)
        assert got["lse"][i] == pytest.approx(math.log(z), rel=1e-14)
        assert got["lsunk"][i] == pytest.approx(math.log(z + math.exp(sink[i])), rel=1e-14)
        assert got["total"][i] == pytest.approx(sum(s[j] for j in keys), rel=1e-14)
        assert got["top"][i] == max(s[j] for j in keys)
        assert got["low"][i] == min(s[j] for j in keys)
        assert got["some"][i] == any(s[j] > 2.0 for j in keys)
        for e in range(2):
            weighted = sum(math.exp(s[j]) * v[j][e] for j in keys)
            assert got["soft"][i][e] == pytest.approx(weighted / z, rel=1e-14)
            assert got["sunk"][i][e] == pytest.approx(weighted / (z + math.exp(sink[i])), rel=1e-14)
            assert got["parts"][i][e] == pytest.approx(sum(v[j][e] for j in keys), rel=1e-14)
            assert got["tops"][i][e] == max(v[j][e] for j in keys)
            assert got["lows"][i][e] == min(v[j][e] for j in keys)
            assert got["every"][i][e] == all(v[j][e] > 0.0 for j in keys)


def empty(got: dict[str, Any]) -> None:
    assert got["soft"] == got["sunk"] == got["parts"] == [[0.0, 0.0]]
    assert got["lse"] == got["top"] == [-INF]
    assert got["tops"] == [[-INF, -INF]]
    assert got["low"] == [INF]
    assert got["lows"] == [[INF, INF]]
    assert got["some"] == [0.0]
    assert got["every"] == [[1.0, 1.0]]
    assert got["lsunk"] == [0.5]
    assert got["total"] == [0.0]


AXES = check(
    Source("""
    attention axes {
        dims M, R
        input  x     : f64[M, R]
        input  at    : i32[R]
        output top   : f64[M]
        output low   : f64[M]
        output some  : f64[M]
        output every : f64[M]
        output pairs : f64[M]
        output found : f64[M]

        each i in M

        top[i]   = max(r in R) x[i,r]
        low[i]   = min(r in R) x[i,r]
        some[i]  = if any(r in R) (x[i,r] > 1.0) then 1 else 0
        every[i] = if all(r in R) (x[i,r] > 1.0) then 1 else 0
        pairs[i] = max(r in R, s in 2) (x[i,r] * f32(2 * s - 1))
        found[i] = 1.0 + (max(r in R) x[i,at[r]])
    }
    """)
)


def along(x: Sequence[Sequence[float]], at: Sequence[int]) -> dict[str, Any]:
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "x": np.array(x, np.float64).reshape(len(x), len(at)),
        "at": np.array(at, np.int32),
    }
    return {name: output.tolist() for name, output in reference(AXES, arrays).items()}


def test_reductions_of_axes() -> None:
    got = along([[2.0, -3.0, 1.5], [4.0, 2.0, 3.0], [NAN, 0.0, 1.0]], [2, 0, 0])
    assert got["top"][:2] == [2.0, 4.0]
    assert got["low"][:2] == [-3.0, 2.0]
    assert got["some"] == [1.0, 1.0, 0.0]
    assert got["every"] == [0.0, 1.0, 0.0]
    assert got["pairs"][:2] == [3.0, 4.0]
    assert got["found"][:2] == [3.0, 5.0]
    assert all(math.isnan(got[name][2]) for name in ("top", "low", "pairs", "found"))


def test_reductions_of_an_axis_without_values() -> None:
    got = along([[]], [])
    assert (got["top"], got["pairs"], got["found"], got["low"]) == ([-INF], [-INF], [-INF], [INF])
    assert (got["some"], got["every"]) == ([0.0], [1.0])


def test_a_reduction_of_an_axis_is_absent_where_a_term_is() -> None:
    got = along([[2.0, -3.0]], [0, 2])
    assert got["found"] == [0.0]
    assert got["top"] == [2.0]


def test_a_row_without_keys() -> None:
    empty(run([], [], [[]], [0.5]))


def test_a_row_whose_keys_are_all_masked_whatever_they_hold() -> None:
    empty(run([NAN, INF], [[NAN, INF], [-INF, NAN]], [[False, False]], [0.5]))


def test_no_rows_and_no_elements() -> None:
    assert run([1.0], [[1.0, 2.0]], [], [])["soft"] == []
    got = run([1.0], [[]], [[True]], [0.0])
    assert got["soft"] == got["parts"] == [[]]
    assert got["total"] == [1.0]


def test_what_a_mask_hides_does_not_reach_the_result() -> None:
    clean = run([1.0, 2.0, 0.0], [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [[True, True, False]], [0.0])
    for garbage in (NAN, INF, -INF):
        row = [garbage, garbage]
        assert run([1.0, 2.0, garbage], [[1.0, 2.0], [3.0, 4.0], row], [[True, True, False]], [0.0]) == clean


def test_a_key_that_is_kept_does_count() -> None:
    got = run([0.0, 0.0], [[NAN, 1.0], [1.0, 1.0]], [[True, True]], [0.0])
    assert math.isnan(got["soft"][0][0]) and got["soft"][0][1] == 1.0


def test_scores_of_minus_infinity() -> None:
    got = run([-INF, -INF], [[1.0, 2.0], [3.0, 4.0]], [[True, True]], [1.0])
    assert got["soft"] == got["sunk"] == [[0.0, 0.0]]
    assert got["lse"] == [-INF]
    assert got["lsunk"] == [1.0]
    one = run([-INF, 5.0], [[1.0, 2.0], [3.0, 4.0]], [[True, True]], [-INF])
    assert one["soft"] == one["sunk"] == [[3.0, 4.0]]
    assert one["lse"] == one["lsunk"] == [5.0]


def test_a_score_of_infinity_is_not_a_number() -> None:
    got = run([INF, 0.0], [[1.0, 2.0], [3.0, 4.0]], [[True, True]], [0.0])
    assert np.isnan(got["soft"]).all() and np.isnan(got["lse"]).all()


def test_nothing_overflows() -> None:
    got = run([1e6, 1e6], [[1.0, 2.0], [3.0, 4.0]], [[True, True]], [-1e6])
    assert got["soft"] == got["sunk"] == [[2.0, 3.0]]
    assert got["lse"] == pytest.approx([1e6 + math.log(2)])


@pytest.mark.filterwarnings("error")
def test_no_warning_leaks() -> None:
    run([NAN, INF], [[NAN, INF], [-INF, NAN]], [[False, False]], [0.5])
    run([INF, 1e308], [[1e308, 1e308], [1e308, INF]], [[True, True]], [INF])


def test_keys_of_several_indices() -> None:
    spec = check(
        Source("""
        attention grid {
            dims Y, X
            input  s : f64[Y, X]
            output a : f64[1]
            output z : f64[1]

            each i in 1
            over y in Y, x in X

            mask = y != x

            a[i] = sum(s[y,x] * (10 * y + x), mask)
            z[i] = logsumexp(s[y,x], mask)
        }
        """)
    )
    s = np.arange(6.0).reshape(2, 3)
    got = reference(spec, {"s": s})
    pairs = [(y, x) for y in range(2) for x in range(3) if y != x]
    assert got["a"][0] == sum(s[y, x] * (10 * y + x) for y, x in pairs)
    assert got["z"][0] == pytest.approx(math.log(sum(math.exp(s[y, x]) for y, x in pairs)))


RANKED = check(
    Source("""
    attention ranked {
        dims M, N, K
        input  s    : f64[N]
        input  keep : bool[M, N]
        input  k    : f64[K]
        output top  : i64[M, K]
        output best : i64[M]

        each i in M
        over j in N

        top[i,:] = topk(s[j], keep[i,j], K)
        best[i]  = argmax(s[j], keep[i,j])
    }
    """)
)


@pytest.mark.parametrize(
    ("s", "keep", "wanted"),
    [
        ([1.0, 3.0, 2.0], [True] * 3, [1, 2, 0]),
        ([2.0, 3.0, 2.0, 3.0], [True] * 4, [1, 3, 0]),
        ([0.0, -0.0, -INF], [True] * 3, [0, 1, 2]),
        ([1.0, NAN, 5.0], [True, False, True], [2, 0, -1]),
        ([1.0, NAN, 5.0, INF], [True] * 4, [-1, 3, 2]),
        ([1.0, 2.0], [False, False], [-1, -1, -1]),
        ([], [], [-1, -1, -1]),
    ],
)
def test_positions_are_in_the_order_of_scores(s: list[float], keep: list[bool], wanted: list[int]) -> None:
    got = reference(RANKED, {"s": np.array(s), "keep": np.array([keep], bool), "k": np.zeros(3)})
    assert got["top"].tolist() == [wanted]
    assert got["best"][0] == wanted[0]
    none = reference(RANKED, {"s": np.array(s), "keep": np.array([keep], bool), "k": np.zeros(0)})
    assert none["top"].shape == (1, 0)
