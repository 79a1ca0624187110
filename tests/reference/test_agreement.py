"""The distance of an output from its reference, and what rounding explains of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.reference.agreement import allowed, compare, longest_sum
from attndsl.storage import ELEMENTS, decode, encode
from attndsl.syntax.source import Source

WANTED = np.array([[0.1, -3.0], [np.pi, 0.0]])


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_rounding_is_explained_and_a_mistake_is_not(element: str) -> None:
    assert compare(element, encode(WANTED, element), WANTED, 10).ok
    assert not compare(element, encode(WANTED * 1.03, element), WANTED, 10).ok


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_rounding_towards_zero_is_not_explained(element: str) -> None:
    wanted = np.random.default_rng(0).standard_normal(100)
    bits = encode(wanted, element).view(np.uint16)
    values = decode(encode(wanted, element), element)
    cut = np.where(np.abs(values) > np.abs(wanted), bits - 1, bits).astype(np.uint16)
    assert not compare(element, cut.view(ELEMENTS[element].dtype), wanted, 10).ok


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_sum_kept_in_the_storage_type_is_not_explained(element: str) -> None:
    terms = decode(encode(np.random.default_rng(1).standard_normal((20, 200)), element), element)
    kept = np.zeros(20)
    for column in terms.T:
        kept = decode(encode(kept + column, element), element)
    assert not compare(element, encode(kept, element), terms.sum(axis=1), 200).ok


def test_a_sum_kept_in_f32_is_explained_in_any_order() -> None:
    terms = np.random.default_rng(2).standard_normal((20, 2000)).astype(np.float32)
    wanted = terms.astype(np.float64).sum(axis=1)
    for order in (terms, np.sort(terms), terms[:, ::-1]):
        assert compare("f32", np.cumsum(order, axis=1, dtype=np.float32)[:, -1], wanted, 2000).ok


def test_infinities_and_nans_must_agree() -> None:
    wanted = np.array([-np.inf, np.nan, 1.0])
    assert compare("f32", wanted.astype(np.float32), wanted, 1).ok
    for place, other in ((0, np.inf), (0, 0.0), (1, 0.0), (2, np.nan), (2, np.inf)):
        got = wanted.astype(np.float32)
        got[place] = other
        assert compare("f32", got, wanted, 1).error == np.inf


def test_what_a_type_cannot_hold_is_infinite_in_both() -> None:
    assert compare("f16", np.array([np.inf], np.float16), np.array([1e6]), 1).ok
    assert compare("f16", np.array([1e4], np.float16), np.array([1e6]), 1).error > 1e5


def test_empty_outputs_agree() -> None:
    found = compare("f32", np.zeros((0, 3), np.float32), np.zeros((0, 3)), 1)
    assert found.ok and found.bound > 0


def test_numbers_below_the_normal_ones_keep_their_step() -> None:
    assert np.all(allowed("f16", np.array([0.0, 1e-7]), 0) >= 2.0**-25)


def additions(text: str, **dims: Any) -> int:
    return longest_sum(check(Source(f"attention a {{ {text} }}")), dims, {})


def test_sums_inside_sums_are_counted() -> None:
    text = """dims M, N, D input q : f32[M, D] input k : f32[N, D] output o : f32[M, D]
        each i in M over j in N
        o[i,:] = softmax(q[i,:] . k[j,:]) . k[j,:] + q[i,:]"""
    assert additions(text, M=3, N=50, D=7) == 57
    assert additions("dims M input x : f32[M] output o : f32[M] each i in M o[i] = x[i]", M=3) == 0
    text = """dims N input x : f32[N] output o : f32[1]
        each i in 1 over y in 3, z in 4
        o[i] = sum(x[y + z])"""
    assert additions(text, N=9) == 12
    text = """dims N input x : f32[N] output o : f32[N]
        each i in N over j in i + 1
        o[i] = sum(x[j])"""
    assert additions(text, N=9) == 9
