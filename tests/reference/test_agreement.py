"""The distance of an output from its reference, and what rounding explains of it."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.reference.agreement import bound, largest_error
from attndsl.storage import encode

WANTED = np.array([[0.1, -3.0], [np.pi, 0.0]])


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_rounding_is_explained_and_a_mistake_is_not(element: str) -> None:
    got = encode(WANTED, element)
    assert largest_error(element, got, WANTED) == 0.0
    assert largest_error(element, encode(WANTED * 1.03, element), WANTED) > bound(element, WANTED)
    step = np.spacing(np.float32(WANTED)) if element != "f64" else np.spacing(WANTED)
    assert 0 < largest_error("f64", WANTED + step, WANTED) <= bound(element, WANTED)


def test_infinities_and_nans_must_agree() -> None:
    wanted = np.array([-np.inf, np.nan, 1.0])
    assert largest_error("f32", wanted.astype(np.float32), wanted) == 0.0
    for place, other in ((0, np.inf), (0, 0.0), (1, 0.0), (2, np.nan), (2, np.inf)):
        got = wanted.astype(np.float32)
        got[place] = other
        assert largest_error("f32", got, wanted) == np.inf


def test_what_a_type_cannot_hold_is_infinite_in_both() -> None:
    assert largest_error("f16", np.array([np.inf], np.float16), np.array([1e6])) == 0.0


def test_empty_outputs_agree() -> None:
    assert largest_error("f32", np.zeros((0, 3), np.float32), np.zeros((0, 3))) == 0.0
    assert bound("f32", np.zeros((0, 3))) > 0
