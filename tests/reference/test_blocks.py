"""Blocks that read what earlier blocks wrote: what they read, how far off it may be, and what it depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Reduce, walk
from attndsl.inputs.poison import elements_read
from attndsl.reference import reference
from attndsl.reference.errors import error_bounds
from attndsl.reference.rounding import rounding_of
from attndsl.syntax.source import Source

TWICE = """attention twice {
    dims M
    input  x : f32[M]
    input  at : i32[M]
    temp   t : KIND[M]
    output o : f32[M]
    each i in M
    t[at[i]] = x[i] / 3.0
    each i in M
    o[i] = 3.0 * t[i]
}"""


def call(x: list[float], at: list[int]) -> dict[str, Any]:
    return {"x": np.array(x, np.float32), "at": np.array(at, np.int32)}


def test_the_reference_keeps_the_real_number_and_the_bound_has_its_rounding() -> None:
    given = call([1.0, 1.0, 1.0], [0, 2, -1])
    bounds = {}
    for element in ("f32", "f16", "bf16"):
        spec = check(Source(TWICE.replace("KIND", element)))
        assert reference(spec, given)["o"] == pytest.approx([1.0, 0.0, 1.0], abs=1e-15)
        bounds[element] = error_bounds(spec, given, None, rounding_of({"f32", element}))["o"]
    # A third is off by half a step between a quarter and a half: 2^-13 in f16, 2^-10 in bf16.
    assert 3 * 2.0**-13 <= bounds["f16"][0] < 3.01 * 2.0**-13
    assert 3 * 2.0**-10 <= bounds["bf16"][0] < 3.01 * 2.0**-10
    assert 0 < bounds["f32"][0] < 1e-6
    assert all(bound[1] == 0 for bound in bounds.values()), "what no row wrote is 0 for certain"


def test_a_number_that_the_type_may_not_hold_has_no_bound() -> None:
    spec = check(Source(TWICE.replace("KIND", "f16")))
    bound = error_bounds(spec, call([3e5, 1e5, -np.inf], [0, 1, 2]), None, rounding_of({"f16", "f32"}))["o"]
    assert np.isinf(bound[0]) and np.isfinite(bound[1])
    assert bound[2] == 0, "an infinity is stored as it is"


def test_what_an_output_depends_on_through_a_temp_is_needed_and_nothing_else() -> None:
    text = TWICE.replace("KIND", "f32").replace("o[i] = 3.0 * t[i]", "o[i] = if i < 1 then t[i] else 0.0")
    needed = elements_read(check(Source(text)), call([1.0, 2.0, 3.0], [1, 0, 2]))
    assert needed["x"].tolist() == [False, True, False]
    needed = elements_read(check(Source(TWICE.replace("KIND", "f32"))), call([1.0, 2.0, 3.0], [1, 0, 2]), row=4)
    assert needed["x"].tolist() == [True, False, False], "the second row of the second block reads what the first wrote"


WEIGHTS = """attention weights {
    dims M, N
    input  s : f32[M, N]
    input  n : i32[M]
    input  t : f32[2]
    input  one : f32[N, N]
    output p : f32[M, N]
    output q : f32[M, N]
    each i in M
    over j in n[i]
    score = s[i,j] - max(s[i,j], j < 2)
    mask  = score < 9.0
    p[i,j] = softmax(score, mask, sink = t[i - 1])
    q[i,:] = softmax(score, mask, sink = t[i - 1]) . one[j,:]
}"""


def test_weights_at_their_keys_are_those_of_the_softmax() -> None:
    """Of an identity matrix a softmax gives its weights."""
    spec, inf = check(Source(WEIGHTS)), np.inf
    s = [[1, 2, 3], [1, 2, 3], [-inf, -inf, -inf], [0, np.nan, 1], [0, inf, 1], [20, 0, -inf], [0, 0, 0]]
    given = {
        "s": np.array([*s, s[1]], np.float32),
        "n": np.array([3, 2, 3, 3, 3, 3, 0, 9], np.int32),
        "t": np.array([0.5, 1.0], np.float32),
        "one": np.eye(3, dtype=np.float32),
    }
    for text in (WEIGHTS, WEIGHTS.replace("t[i - 1]", "t[i % 2]"), WEIGHTS.replace(", sink = t[i - 1]", "")):
        found = reference(check(Source(text)), given)
        np.testing.assert_allclose(found["p"], found["q"], rtol=1e-12, atol=1e-15)
    assert reference(spec, given)["p"][[0, 3]].tolist() == [[0, 0, 0], [0, 0, 0]], "no sink, no weights"


def test_nothing_is_reduced_once_for_every_key() -> None:
    spec = check(Source(WEIGHTS))
    first, second = spec.blocks
    assert [index.name for index in second.each] == ["i", "j"] and not second.over
    assert not any(isinstance(expr, Reduce) for write in second.writes for expr in walk(write.value))
    assert sorted(write.tensor.name for write in first.writes) == ["p_logsumexp", "p_max", "q"]
