"""Whatever is computed of floats has no more significant bits than is claimed for it, and lies where that says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from attndsl.ir.analyses.significands import ANY, ZERO, Significand
from attndsl.ir.ranges import Range
from attndsl.storage import ELEMENTS, decode

FLOATS = ("f16", "bf16", "f8e4m3", "f8e5m2")


def holds(claimed: Significand, value: Fraction) -> bool:
    """Whether a number is one of those that a significand tells of."""
    if value == 0:
        return True
    exact = Significand.of_number(float(value))
    assert Fraction(float(value)) == value
    return exact.bits <= claimed.bits and exact.low >= claimed.low and exact.high <= claimed.high


def drawn(seed: int) -> Iterator[tuple[Significand, Fraction]]:
    """Numbers of every small type, integers of ranges, and powers of 2, with what is claimed of them."""
    source = random.Random(seed)
    for element in FLOATS:
        code = np.asarray([source.randrange(1 << ELEMENTS[element].dtype.itemsize * 8)])
        bits = code.astype(f"uint{8 * ELEMENTS[element].dtype.itemsize}").view(ELEMENTS[element].dtype)
        value = float(decode(bits, element)[0])
        if np.isfinite(value):
            yield Significand.of_element(element), Fraction(value)
    low, high = sorted(source.randint(-20, 20) for _ in range(2))
    integer = Fraction(source.randint(low, high))
    integers = Significand.of_integers(Range(low, high))
    yield integers, integer
    yield integers.power_of_two(), Fraction(2) ** int(integer)


@pytest.mark.parametrize("seed", range(60))
def test_holds_of_what_is_computed(seed: int) -> None:
    """Products, sums and choices of any two of them; only what f64 holds can be checked, which is nearly all."""
    values = list(drawn(seed))
    for left, x in values:
        assert holds(left, x)
        for right, y in values:
            assert holds(left * right, x * y) or (left * right).bits > ANY.bits
            if (left + right).bits <= ANY.bits:
                assert holds(left + right, x + y)
            assert holds(left | right, x)


@pytest.mark.parametrize("element", FLOATS)
def test_an_element_type_holds_its_own_numbers(element: str) -> None:
    assert Significand.of_element(element).fits(element)
    assert ZERO.fits(element)
    assert not ANY.fits(element)


def test_what_f16_holds() -> None:
    """11 bits, from 2^-24 to below 2^16."""
    assert Significand(11, -24, 16).fits("f16")
    assert not Significand(12, 0, 12).fits("f16")
    assert not Significand(1, -25, 0).fits("f16")
    assert not Significand(1, 0, 17).fits("f16")


def test_the_integers_of_a_byte_fit_both_halves() -> None:
    assert Significand.of_integers(Range(-128, 127)).fits("bf16")
    assert Significand.of_integers(Range(0, 255)).fits("bf16")
    assert not Significand.of_integers(Range(0, 256)).fits("bf16")
    assert Significand.of_integers(Range(0, 256)).fits("f16")


def test_a_product_with_zero_adds_nothing() -> None:
    nothing = ZERO * Significand.of_element("f16")
    assert (nothing + nothing).fits("f16")
    assert (nothing + Significand(4, 0, 4)).fits("f16")


def test_two_to_a_fraction_has_any_bits() -> None:
    assert Significand.of_element("f16").power_of_two() == ANY
