"""Element types: every code of the small floats, and rounding, beside ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl.checking.typed import FLOAT_TYPES, STORAGE_KINDS
from attndsl.storage import ELEMENTS, WIDE, accepts, as_stored, decode, element_among, encode

Array = np.ndarray[Any, Any]

SMALL = [(e.name, np.dtype(getattr(ml_dtypes, e.extension))) for e in ELEMENTS.values() if e.extension]


def codes(element: str) -> Array:
    entry = ELEMENTS[element]
    return np.arange(2 ** (8 * entry.itemsize)).astype(entry.dtype)


def test_there_is_a_row_for_every_element_type() -> None:
    assert ELEMENTS.keys() == STORAGE_KINDS.keys()
    sizes = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8e4m3": 1, "f8e5m2": 1, "bool": 1}
    sizes |= {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8}
    assert {name: entry.itemsize for name, entry in ELEMENTS.items()} == sizes
    assert len(SMALL) == 3


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(("element", "extension"), SMALL)
def test_every_code_has_its_value(element: str, extension: np.dtype[Any]) -> None:
    bits = codes(element)
    expected = bits.view(extension).astype(np.float64)
    for array in (bits, bits.view(extension)):
        got = decode(array, element)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize(("element", "extension"), SMALL)
def test_rounding_is_to_nearest_even(element: str, extension: np.dtype[Any]) -> None:
    values = decode(codes(element), element)
    grid = np.unique(values[np.isfinite(values)])
    middles = (grid[1:] + grid[:-1]) / 2
    close = [np.nextafter(middles.astype(np.float32), np.float32(side)) for side in (-np.inf, np.inf)]
    beyond = [grid[-1] * factor for factor in (1.01, 1.03, 1.1, 1.2, 2.0)]
    sample = np.concatenate([grid, middles, *close, beyond, np.negative(beyond), [np.inf, -np.inf, np.nan, -0.0]])
    sample = sample.astype(np.float32).astype(np.float64)  # ml_dtypes rounds a float64 twice
    got, expected = encode(sample, element), sample.astype(extension).view(ELEMENTS[element].dtype)
    both_nan = np.isnan(decode(got, element)) & np.isnan(decode(expected, element))
    np.testing.assert_array_equal(got[~both_nan], expected[~both_nan])
    assert np.isnan(sample[-2]) and both_nan[-2]


def test_a_float64_is_rounded_once() -> None:
    just_above = 1 + 2.0**-8 + 2.0**-40
    assert decode(encode(np.array([just_above]), "bf16"), "bf16")[0] == 1 + 2.0**-7


@pytest.mark.parametrize(("element", "largest"), [("f8e4m3", 448.0), ("f8e5m2", 57344.0)])
def test_a_float_of_8_bits_is_written_as_the_nearest_finite_one(element: str, largest: float) -> None:
    values = np.array([1.0, -0.0, 1e-9, 450.0, 1e30, -np.inf, np.nan])
    got = decode(as_stored(values, element), element)
    assert got[:3].tolist() == [1.0, 0.0, 0.0] and np.signbit(got[1])
    assert got[4:6].tolist() == [largest, -largest]
    assert np.isnan(got[6])
    plain = values[np.abs(values) < largest]
    np.testing.assert_array_equal(as_stored(plain, element), encode(plain, element))


def test_a_float_is_written_as_the_nearest_int_of_8_bits() -> None:
    values = np.array([0.5, 1.5, 2.5, -2.5, -3.6, 126.5, 127.5, 254.5, 1e9, -np.inf, np.nan], np.float32)
    assert as_stored(values, "i8").tolist() == [0, 2, 2, -2, -4, 126, 127, 127, 127, -128, 0]
    assert as_stored(values, "u8").tolist() == [0, 2, 2, 0, 0, 126, 128, 254, 255, 0, 0]


def test_an_int_wraps_where_it_is_written() -> None:
    values = np.array([300, -129, 2**31, -1, 2**40 + 5])
    assert as_stored(values, "i8").tolist() == [44, 127, 0, -1, 5]
    assert as_stored(values, "u32").tolist() == [300, 2**32 - 129, 2**31, 2**32 - 1, 5]


@pytest.mark.parametrize("element", ["f16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool"])
def test_what_numpy_has_is_plain(element: str) -> None:
    values = np.array([0, 1, 1, 0])
    held = encode(values, element)
    assert held.dtype == ELEMENTS[element].dtype
    got = decode(held, element)
    assert got.dtype == WIDE[STORAGE_KINDS[element]]
    assert got.tolist() == values.tolist()


def test_strides_do_not_matter() -> None:
    bits = encode(np.arange(12.0).reshape(3, 4), "bf16")
    assert decode(bits[::-2, ::2].T, "bf16").tolist() == [[8.0, 0.0], [10.0, 2.0]]


def test_which_array_holds_what() -> None:
    held = {element: ELEMENTS[element].dtype for element in FLOAT_TYPES}
    assert {element: element_among(FLOAT_TYPES, dtype) for element, dtype in held.items()} == {e: e for e in held}
    assert element_among(FLOAT_TYPES, np.dtype(ml_dtypes.bfloat16)) == "bf16"
    assert element_among(("i32", "u16"), np.dtype(np.uint16)) == "u16"
    assert accepts("f8e4m3", np.dtype(ml_dtypes.float8_e4m3fn))
    assert not accepts("f8e4m3", np.dtype(ml_dtypes.float8_e5m2))
    with pytest.raises(ValueError, match="no element type of f32, f16 is held in int32"):
        element_among(["f32", "f16"], np.dtype(np.int32))
    with pytest.raises(ValueError, match="i32 is held in int32, not in int64"):
        decode(np.zeros(2, np.int64), "i32")
