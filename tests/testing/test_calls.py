"""What a call may not do besides giving other outputs: write to its inputs, or leave BLAS otherwise than it was."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, calls
from attndsl.testing.calls import Calling, OverlapDiffers, ThreadsLeft, blas_threads, check_call
from attndsl.testing.case import InputChanged

SPEC = """attention kept(p: int = 2, w: f32 = 0.5, flag: bool = true) {
    dims N
    input x : f32[N]
    input s : i32[]
    output o : f32[N]
    each i in N
    o[i] = w * x[i] + f32(p + s[])
}"""

OVERLAPPING = Calling(threads=3)


def right(x: Any, s: Any, p: Any, w: Any, flag: Any) -> Any:
    return (np.float32(w) * x + np.float32(p + s)).astype(np.float32)


def case() -> Case:
    return Case.make(check(Source(SPEC)))


@pytest.mark.parametrize(
    "calling", [Calling(), Calling(scalars=True), OVERLAPPING, Calling(threads=3, blas=2)], ids=str
)
def test_a_right_call(calling: Calling) -> None:
    assert 0 <= check_call(case(), calling, right) <= 1


def test_numbers_of_numpy_are_what_is_given() -> None:
    given: dict[str, Any] = {}

    def operator(**arguments: Any) -> Any:
        given.update(arguments)
        return right(**arguments)

    check_call(case(), Calling(scalars=True), operator)
    types = {name: type(value) for name, value in given.items() if name != "x"}
    assert types == {"s": np.int32, "p": np.int64, "w": np.float32, "flag": np.bool_}


def test_what_two_inputs_tell_together_one_of_them_is_left_to_tell() -> None:
    text = """attention told {
        dims N, M
        input x : f32[N]
        input a : f32[M] = 0.0
        input b : f32[M] = 0.0
        output o : f32[N]
        each i in N
        over j in M
        o[i] = x[i] + sum(a[j] + b[j])
    }"""
    full = Case.make(check(Source(text)))
    full = full.given(a=np.zeros_like(full.arrays["a"]), b=np.zeros_like(full.arrays["b"]))
    given = set[str]()

    def operator(**arguments: Any) -> Any:
        given.update(arguments)
        return arguments["x"].copy()

    check_call(full, Calling(leaves_out=True), operator)
    assert given == {"x", "b"}


def test_an_input_that_is_left_out_says_nothing_of_rounding() -> None:
    text = """attention computed {
        dims N
        types T, U
        input x : T[N]
        input y : U[N] = 0.0
        output o : T[N]
        each i in N
        o[i] = x[i] * x[i] * x[i] + y[i]
    }"""
    full = replace(Case.make(check(Source(text))), types={"T": "f32", "U": "f64"}).given(y=np.zeros(5))
    full = full.given(x=np.linspace(1, 2, 5, dtype=np.float32) + np.float32(0.1))

    def operator(x: Any, y: Any = None) -> Any:
        return x * x * x

    assert 0 < check_call(full, Calling(leaves_out=True), operator) <= 1
    with pytest.raises(Disagreement):
        check_call(full, Calling(), operator)


def test_wrong_outputs() -> None:
    with pytest.raises(Disagreement, match="after numpy call"):
        check_call(case(), Calling(), lambda **given: right(**given) + 1)


def test_an_input_that_is_written_to() -> None:
    def operator(x: Any, **given: Any) -> Any:
        found = right(x, **given)
        x[0] = 7
        return found

    one = case()
    before = one.arrays["x"].copy()
    with pytest.raises(InputChanged, match="kept: the input x has been written to"):
        check_call(one, Calling(), operator)
    np.testing.assert_array_equal(one.arrays["x"], before)


def test_other_bits_beside_others() -> None:
    def operator(**given: Any) -> Any:
        return right(**given) * (1 if threading.current_thread() is threading.main_thread() else 1 + 2**-23)

    with pytest.raises(OverlapDiffers):
        check_call(case(), OVERLAPPING, lambda **given: operator(**given).astype(np.float32))


def test_what_fails_beside_others_is_told() -> None:
    def operator(**given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("not in this thread")
        return right(**given)

    with pytest.raises(RuntimeError, match="not in this thread"):
        check_call(case(), OVERLAPPING, operator)


def test_threads_of_blas_that_are_not_put_back() -> None:
    def operator(**given: Any) -> Any:
        calls._set_threads([1] * len(before))
        return right(**given)

    before = calls._threads()
    with pytest.raises(ThreadsLeft), blas_threads(None):
        check_call(case(), Calling(threads=3, blas=2), operator)
    assert calls._threads() == before
