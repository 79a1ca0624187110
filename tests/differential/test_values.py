"""Scores and values that are extreme, as they are in real models: huge, infinite, equal, not numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages

Array = np.ndarray[Any, Any]

SPEC = """attention extremes {
    dims M, N, E
    input  x    : f32[M, N]
    input  v    : f32[N, E]
    output o    : f32[M, E]
    output sunk : f32[M, E]
    output lse  : f32[M]
    output top  : f32[M]
    each i in M
    over j in N
    mask = j <= i + 3
    o[i,:]    = softmax(x[i,j], mask) . v[j,:]
    sunk[i,:] = softmax(x[i,j], mask, sink = 0.5) . v[j,:]
    lse[i]    = logsumexp(x[i,j], mask)
    top[i]    = max(x[i,j], mask)
}"""


def _with(value: float, *place: int | slice) -> Callable[[Array], Array]:
    def put(array: Array) -> Array:
        array = array.copy()
        array[place] = value
        return array

    return put


SCORES: dict[str, Callable[[Array], Array]] = {
    "far below any finite mask": lambda x: x - 5e4,
    "near the smallest float": lambda x: x * np.float32(1e37),
    "far apart": lambda x: x * 300,
    "equal": np.zeros_like,
    "denormal": lambda x: np.full_like(x, 1e-42),
    "minus infinity in all": lambda x: np.full_like(x, -np.inf),
    "minus infinity in a row": _with(-np.inf, 0),
    "minus infinity in the first tile": _with(-np.inf, slice(None), slice(3)),
    "minus infinity in the last tile": _with(-np.inf, slice(None), slice(3, None)),
    "one infinity": _with(np.inf, 1, 2),
    "one that is no number": _with(np.nan, 1, 2),
}


@pytest.fixture(scope="module")
def case() -> Case:
    return Case.make(check(Source(SPEC)), dims={"M": 4, "N": 7, "E": 2})


def test_extreme_scores_agree_at_every_stage(case: Case) -> None:
    check_stages([case.given(x=make(case.arrays["x"])) for make in SCORES.values()])


def test_extreme_values_agree_at_every_stage(case: Case) -> None:
    values = case.arrays["v"]
    check_stages([case.given(v=_with(special, key)(values)) for special in (np.inf, np.nan, 3e38) for key in (2, 6)])


def test_one_bad_key_leaves_the_rows_that_do_not_see_it(case: Case) -> None:
    bad = case.given(v=_with(np.nan, 6)(case.arrays["v"]))
    assert np.isfinite(bad.wanted["o"][:3]).all() and np.isnan(bad.wanted["o"][3]).all()
    check_stages([bad])
