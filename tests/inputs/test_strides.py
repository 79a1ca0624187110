"""The same array in other layouts."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.inputs import LAYOUTS, relay

STRIDES = {"transposed": (8, 16, 48), "sliced": (192, 64, 16), "reversed": (-96, -32, -8), "broadcast": (0, 32, 8)}


def test_every_layout_is_known() -> None:
    assert STRIDES.keys() == LAYOUTS.keys()


@pytest.mark.parametrize("layout", STRIDES)
def test_strides_and_values(layout: str) -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    laid = relay(array, layout)
    assert laid.strides == STRIDES[layout]
    assert laid.flags.writeable
    np.testing.assert_array_equal(laid, np.broadcast_to(array[:1], array.shape) if layout == "broadcast" else array)


def test_between_the_elements_of_a_slice_lies_what_must_not_be_read() -> None:
    base = relay(np.ones((2, 2)), "sliced").base
    assert isinstance(base, np.ndarray)
    assert np.isnan(base[:, 0::2]).all()
    assert relay(np.array([False, False]), "sliced").tolist() == [False, False]


@pytest.mark.parametrize("layout", STRIDES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)])
def test_small_arrays(layout: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.int32)
    np.testing.assert_array_equal(relay(array, layout), array)
