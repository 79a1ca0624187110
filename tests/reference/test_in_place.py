"""Inouts: what a call leaves in them, how far off it may be, and what of them it depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.inputs.poison import elements_read
from attndsl.reference import reference
from attndsl.reference.errors import error_bounds
from attndsl.reference.rounding import rounding_of
from attndsl.syntax.source import Source
from attndsl.testing.case import Case
from attndsl.testing.laws import row_of_each_element

MOVED = """attention moved {
    dims M, N
    input  x      : f32[M]
    input  at     : i32[M]
    input  by     : i32[M]
    inout  state  : f32[N]
    inout  count  : i32[N]
    output before : f32[N]
    output after  : f32[N]
    each n in N
    before[n] = state[n]
    each i in M
    state[at[i]] = x[i] + 0.5 * state[at[i]] + f32(8 / by[i])
    count[at[i]] = count[at[i]] + 1
    each n in N
    after[n] = state[n]
}"""
"""Where `by` is 0 the value is absent."""


def call(at: list[int], by: list[int]) -> dict[str, Any]:
    return {
        "x": np.array([1, 2, 4], np.float32),
        "at": np.array(at, np.int32),
        "by": np.array(by, np.int32),
        "state": np.array([10, np.nan, 30, -0.0], np.float32),
        "count": np.array([5, 6, 7, 8], np.int32),
    }


def test_what_is_written_stays_and_the_rest_is_as_it_was() -> None:
    given = call([2, 0, -1], [8, 0, 8])
    found = reference(check(Source(MOVED)), given)
    assert [*found] == ["before", "after", "state", "count"]
    np.testing.assert_array_equal(found["state"], [10, np.nan, 17, 0])
    assert np.signbit(found["state"][3]), "no bit of what is not written changes"
    np.testing.assert_array_equal(found["count"], [6, 6, 8, 8])
    np.testing.assert_array_equal(found["before"], given["state"])
    np.testing.assert_array_equal(found["after"], found["state"])
    assert given["state"][2] == 30, "the arrays of the caller are no concern of the reference"


def test_what_a_call_depends_on() -> None:
    spec = check(
        Source(
            MOVED.replace("before[n] = state[n]", "before[n] = 0.0").replace("after[n] = state[n]", "after[n] = 0.0")
        )
    )
    given = call([2, 0, -1], [8, 0, 8])
    assert elements_read(spec, given)["state"].all(), (
        "what is left as it is, and what is read before it is written over"
    )
    over = check(Source(spec.source.text.replace("0.5 * state[at[i]] + ", "")))
    assert elements_read(over, given)["state"].tolist() == [True, True, False, True], "2 is written over unread"
    assert elements_read(over, given, row=5)["state"].tolist() == [True, False, False, False], (
        "an absent row leaves its own"
    )


def test_the_bound_of_what_is_left_is_none_and_of_what_may_be_written_any() -> None:
    rounding = rounding_of({"f32"})
    bound = error_bounds(check(Source(MOVED)), call([2, 0, -1], [8, 0, 8]), None, rounding)
    assert bound["state"].tolist()[:2] == [0, 0] and 0 < bound["state"][2] < 1e-4
    # Whether the value is there is decided by a comparison that rounding may turn round.
    near = MOVED.replace("f32(8 / by[i])", "(if x[i] * x[i] / 3.0 * 3.0 <= x[i] * x[i] then 1.0 else f32(8 / by[i]))")
    bound = error_bounds(check(Source(near)), call([2, 0, -1], [0, 0, 0]), None, rounding)
    assert np.isinf(bound["state"][[0, 2]]).all() and bound["state"][3] == 0


def test_which_of_two_rows_stays_is_not_said() -> None:
    bound = error_bounds(check(Source(MOVED)), call([2, 2, 0], [8, 8, 8]), None, rounding_of({"f32"}))
    assert np.isinf(bound["state"][2]) and np.isinf(bound["after"][2])
    assert np.isfinite(bound["state"][[0, 3]]).all()


SUMS = """attention sums {
    dims M, N
    types T
    input x     : f32[M]
    input at    : i32[M]
    inout total : T[N]
    each i in M
    total[at[i]] += x[i] / f32(at[i])
}"""


@pytest.mark.parametrize("element", [np.float16, np.float64])
def test_sums_add_up_from_what_is_there(element: type[Any]) -> None:
    spec = check(Source(SUMS))
    given = {
        "x": np.array([1, 2, 4], np.float32),
        "at": np.array([2, 2, 0], np.int32),
        "total": np.array([1, 2, 3], element),
    }
    np.testing.assert_array_equal(reference(spec, given)["total"], [np.inf, 2, 4.5])
    bound = error_bounds(spec, given, None, rounding_of({"f32"}))["total"]
    assert bound[1] == 0, "nothing is added to it"
    assert 2.0**-24 * 4.5 < bound[2] < 2.0**-19, "of a sum of what was there and two terms"


def test_each_row_has_its_elements() -> None:
    case = Case.make(check(Source(MOVED)), dims={"M": 3, "N": 4}).given(**call([2, 0, -1], [8, 0, 8]))
    writers = row_of_each_element(case)
    assert writers["state"].tolist() == [5, -1, 4, -1]


@pytest.mark.parametrize("role", ["output", "inout"])
def test_one_number_has_a_bound_as_several_have(role: str) -> None:
    text = f"attention a {{ dims N input x : f32[N] {role} t : f32[] each i in N t[] += x[i] }}"
    given = {"x": np.arange(1, 9, dtype=np.float32), "t": np.array(2, np.float32)}
    bound = error_bounds(check(Source(text)), given, None, rounding_of({"f32"}))["t"]
    assert 8 * 36 * 2.0**-24 <= bound < 10 * 40 * 2.0**-24
