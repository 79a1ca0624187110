"""Expressions of dims and parameters, evaluated before any data is read."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Expr
from attndsl.syntax.source import Source


def condition(text: str) -> Expr:
    head = "(w: int = 3, x: f32 = 0.5, flag: bool = true)"
    body = f"dims B, N input y : f32[B, N] output o : f32[B] require {text} each b in B o[b] = y[b,0]"
    return check(Source(f"attention a{head} {{ {body} }}")).requires[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N % B == 0", False),
        ("(-N) / 2 == -4 and (-N) % 4 == 1", True),
        ("N >> 1 << 2 == 12 and N << 64 == 0 and -N >> 70 == -1", True),
        ("B == 0 or N / B == 3", True),
        ("flag and w * x == 1.5", True),
        ("(if flag then w else 0) == 3", True),
        ("not flag or minimum(B, N) == maximum(B, -N)", True),
        ("sqrt(B + 2) == 2.0", True),
    ],
)
def test_worth(text: str, expected: bool) -> None:
    assert evaluate(condition(text), {"B": 2, "N": 7}, {"w": 3, "x": 0.5, "flag": True}) is expected


def test_what_is_not_reached_is_not_evaluated() -> None:
    params: dict[str, Any] = {"w": 3, "x": 0.5, "flag": True}
    guarded = condition("B == 0 or N / B == 3")
    assert evaluate(guarded, {"B": 0, "N": 7}, params) is True
    with pytest.raises(ZeroDivisionError):
        evaluate(condition("N / w == 3"), {"B": 0, "N": 7}, {**params, "w": 0})


def test_data_is_refused() -> None:
    source = "attention a { dims B input y : f32[B] output o : f32[B] each b in B o[b] = y[b] }"
    write = check(Source(source)).blocks[0].writes[0]
    with pytest.raises(ValueError, match="Read is not known before the data is read"):
        evaluate(write.value, {"B": 1}, {})
