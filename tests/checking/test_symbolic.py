"""Expressions of dims and parameters: their worth, their text, their rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from attndsl.checking.numbers import ON_NUMBERS
from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import show
from attndsl.checking.symbolic import evaluate, names

B, N, W = ("dim", "B"), ("dim", "N"), ("param", "window")
DIMS, PARAMS = {"B": 3, "N": -7}, {"window": 2}

CASES: list[tuple[Any, str, Any]] = [
    (5, "5", 5),
    (True, "true", True),
    (B, "B", 3),
    (("iadd", B, ("imul", W, N)), "B + window * N", -11),
    (("imul", ("iadd", B, W), N), "(B + window) * N", -35),
    (("isub", B, ("isub", W, N)), "B - (window - N)", -6),
    (("isub", ("isub", B, W), N), "B - window - N", 8),
    (("idiv", N, W), "N / window", -4),
    (("imod", N, B), "N % B", 2),
    (("ineg", ("iadd", B, 1)), "-(B + 1)", -4),
    (("imax", B, N), "maximum(B, N)", 3),
    (("not", ("ieq", B, 3)), "not B == 3", False),
    (("and", ("ige", B, 1), ("or", ("ilt", B, 1), ("ine", N, 1))), "B >= 1 and (B < 1 or N != 1)", True),
    (("iselect", ("igt", B, N), B, N), "if B > N then B else N", 3),
    (("imul", 2, ("iselect", ("igt", B, N), B, N)), "2 * (if B > N then B else N)", 6),
    (("fle", ("sqrt", ("float", B)), 1.5), "sqrt(f32(B)) <= 1.5", False),
    (("fdiv", 1.0, ("float", ("isub", B, B))), "1.0 / f32(B - B)", math.inf),
    (("ishr", ("iand", B, 6), 1), "(B & 6) >> 1", 1),
]


@pytest.mark.parametrize(("expression", "text", "value"), CASES)
def test_worth_and_text(expression: Any, text: str, value: Any) -> None:
    assert show(expression) == text
    assert evaluate(expression, DIMS, PARAMS) == value


def test_what_is_not_reached_is_not_evaluated() -> None:
    by_zero = ("ieq", ("imod", B, 0), 0)
    assert evaluate(("and", False, by_zero), DIMS, PARAMS) is False
    assert evaluate(("or", True, by_zero), DIMS, PARAMS) is True
    assert evaluate(("iselect", ("ieq", B, 3), 1, ("idiv", 1, 0)), DIMS, PARAMS) == 1
    with pytest.raises(ZeroDivisionError):
        evaluate(by_zero, DIMS, PARAMS)


def test_names_are_found_in_order() -> None:
    assert list(names(("iadd", B, ("imul", W, ("iadd", N, B))))) == ["B", "window", "N", "B"]


def test_every_operator_of_the_language_has_a_meaning() -> None:
    lazy = {"and", "or", "iselect", "fselect", "bselect"}
    assert ON_NUMBERS.keys() | lazy == OPERATORS.keys()


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_operator_has_a_text(name: str) -> None:
    operator = OPERATORS[name]
    text = show((name, *(("dim", letter) for letter in "abc"[: len(operator.takes)])))
    spelling = operator.spelling.removesuffix("()")
    assert all(part in text for part in spelling.split()), text
