"""The distance of an output from its reference, and what rounding explains of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.reference.agreement import compare
from attndsl.storage import ELEMENTS, decode, encode

WANTED = np.array([[0.1, -3.0], [np.pi, 0.0]])
NONE = np.zeros_like(WANTED)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_storing_rounds_once(element: str) -> None:
    assert compare(element, encode(WANTED, element), WANTED, NONE).ok
    assert not compare(element, encode(WANTED * 1.03, element), WANTED, NONE).ok
    assert compare(element, encode(WANTED * 1.03, element), WANTED, NONE + 0.2).ok


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_rounding_towards_zero_is_not_explained(element: str) -> None:
    wanted = np.random.default_rng(0).standard_normal(100)
    bits = encode(wanted, element).view(np.uint16)
    values = decode(encode(wanted, element), element)
    cut = np.where(np.abs(values) > np.abs(wanted), bits - 1, bits).astype(np.uint16)
    assert not compare(element, cut.view(ELEMENTS[element].dtype), wanted, np.zeros(100)).ok


def test_infinities_and_nans_must_agree() -> None:
    wanted, none = np.array([-np.inf, np.nan, 1.0]), np.zeros(3)
    assert compare("f32", wanted.astype(np.float32), wanted, none).ok
    for place, other in ((0, np.inf), (0, 0.0), (1, 0.0), (2, np.nan), (2, np.inf)):
        got = wanted.astype(np.float32)
        got[place] = other
        found = compare("f32", got, wanted, none)
        assert found.error == np.inf and found.place == (place,) and not found.ok


def test_what_a_type_cannot_hold_is_infinite_in_both() -> None:
    def f16(got: float, wanted: float, computed: float = 0.0) -> bool:
        return compare("f16", np.array([got], np.float16), np.array([wanted]), np.array([computed])).ok

    assert f16(np.inf, 1e6) and not f16(1e4, 1e6)
    assert f16(65504.0, 65519.0) and not f16(np.inf, 65519.0)
    assert f16(np.inf, 65519.0, 2.0), "which may have been more before it was stored"
    assert f16(65504.0, 65521.0, 2.0), "which may have been less"


def test_what_rounding_explains_without_limit_is_not_compared() -> None:
    wanted, computed = np.array([1.0, 2.0]), np.array([np.inf, 0.0])
    found = compare("f32", np.array([np.nan, 2.0], np.float32), wanted, computed)
    assert found.ok and found.checked == 0.5


def test_the_entry_that_uses_most_of_its_bound_is_told() -> None:
    got = np.array([1.0, 2.5, 3.0], np.float32)
    found = compare("f32", got, np.array([1.0, 2.0, 2.9]), np.full(3, 0.2))
    assert (found.place, found.got, found.wanted, found.error) == ((1,), 2.5, 2.0, 0.5)
    assert found.used == pytest.approx(2.5, rel=1e-5)


def test_empty_outputs_agree() -> None:
    empty: Any = np.zeros((0, 3))
    assert compare("f32", empty.astype(np.float32), empty, empty).ok


def test_numbers_below_the_normal_ones_keep_their_step() -> None:
    assert compare("f16", np.array([0.0], np.float16), np.array([2.0**-25]), np.zeros(1)).ok
    assert not compare("f16", np.array([2.0**-24], np.float16), np.array([2.0**-26]), np.zeros(1)).ok
