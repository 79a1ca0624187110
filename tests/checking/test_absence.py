"""What the checker adds for an axis out of range is absent in the meaning and in what is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking.check import check
from attndsl.reference.interpreter import reference
from attndsl.syntax.source import Source

TEXT = """
attention guarded {
    dims B, N, D
    input x : f32[B, D]
    input k : f32[N]
    output largest : f32[B]
    output count : f32[B]
    output row : f32[B]

    each b in B
    over j in N

    let u[d in D] = 1.0 + d
    let m[d in D] = d != 1
    let n[d in D] = 2 * d

    largest[b] = max(u[j + 1])
    count[b] = sum(k[j], m[j + 1] and n[j] >= 0)
    row[b] = u[b + 3] + x[b, 0]
}
"""


def meant(**arrays: np.ndarray[Any, Any]) -> dict[str, Any]:
    return dict(reference(check(Source(TEXT)), arrays))


def compiled(**arrays: np.ndarray[Any, Any]) -> dict[str, Any]:
    largest, count, row = attndsl.compile(TEXT)(**arrays)
    return {"largest": largest, "count": count, "row": row}


@pytest.mark.parametrize("run", [meant, compiled])
@pytest.mark.parametrize("keys", [0, 2, 4, 9])
def test_an_axis_out_of_range_is_absent(run: Callable[..., dict[str, Any]], keys: int) -> None:
    rows, features = 3, 4
    got = run(x=np.zeros((rows, features), np.float32), k=np.ones(keys, np.float32))
    inside = [j for j in range(keys) if j + 1 < features]
    assert np.array_equal(got["largest"], [max((j + 2 for j in inside), default=-np.inf)] * rows)
    assert np.array_equal(got["count"], [sum(j + 1 != 1 for j in inside)] * rows)
    assert np.array_equal(got["row"], [4, 0, 0])
