"""The interpreter's table of operators: complete, and right on the edges."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from attndsl.checking.numbers import ON_NUMBERS as NUMBERS
from attndsl.checking.operators import OPERATORS, Operator
from attndsl.checking.typed import Kind
from attndsl.reference.operators import ON_ARRAYS
from attndsl.storage import WIDE

LAZY = {"and", "or", "iselect", "fselect", "bselect"}

SAMPLES: dict[Kind, tuple[Any, ...]] = {
    Kind.INT: (0, 1, -1, 2, 7, -7, 63, 64, 65, -64, 2**62, 2**63 - 1, -(2**63)),
    Kind.FLOAT: (0.0, 0.5, 1.0, -1.5, 3.0, -700.0, 700.0, -8000.0, 8000.0, math.inf, -math.inf, math.nan),
    Kind.BOOL: (False, True),
}


def rows() -> list[tuple[str, Operator]]:
    return [(name, row) for name, row in OPERATORS.items() if name not in LAZY]


def test_no_row_is_missing_and_none_is_idle() -> None:
    assert ON_ARRAYS.keys() == OPERATORS.keys()
    assert NUMBERS.keys() == OPERATORS.keys() - LAZY


@pytest.mark.parametrize(("name", "row"), rows(), ids=[name for name, _ in rows()])
def test_arrays_and_numbers_agree(name: str, row: Operator) -> None:
    compared = 0
    for sample in product(*(SAMPLES[kind] for kind in row.takes)):
        try:
            expected = NUMBERS[name](*sample)
        except ZeroDivisionError:
            continue
        arguments = [np.asarray([value], WIDE[kind]) for value, kind in zip(sample, row.takes, strict=True)]
        with np.errstate(all="ignore"):
            result = np.asarray(ON_ARRAYS[name](*arguments))
        assert result.dtype == WIDE[row.gives]
        np.testing.assert_allclose(result[0], expected, rtol=1e-15, err_msg=f"{name}{sample}")
        compared += 1
    assert compared > 1


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("exp", 1000.0, math.inf),
        ("log", 0.0, -math.inf),
        ("log", -1.0, math.nan),
        ("rsqrt", 0.0, math.inf),
        ("rsqrt", -1.0, math.nan),
        ("sigmoid", -1000.0, 0.0),
        ("sigmoid", math.inf, 1.0),
        ("relu", math.nan, math.nan),
        ("floor", -0.5, -1.0),
        ("fneg", math.inf, -math.inf),
    ],
)
def test_edges_of_the_real_functions(name: str, argument: float, expected: float) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_equal(ON_ARRAYS[name](np.asarray([argument]))[0], expected)


def test_the_smaller_and_the_larger_of_a_nan_are_nan() -> None:
    nan, one = np.asarray([math.nan]), np.asarray([1.0])
    for name in ("fmin", "fmax"):
        assert np.isnan(ON_ARRAYS[name](nan, one)) and np.isnan(ON_ARRAYS[name](one, nan))


def test_selects_take_one_operand() -> None:
    condition = np.asarray([True, False])
    chosen = ON_ARRAYS["fselect"](condition, np.asarray([1.0, 2.0]), np.asarray([math.nan, 4.0]))
    assert chosen.tolist() == [1.0, 4.0]
