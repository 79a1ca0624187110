"""Typing, promotion and integer arithmetic."""

from __future__ import annotations

import pytest

from attndsl.checking.typed import Constant

from .specs import row, text

PROMOTED = {
    "b": "f32(b)",
    "b + 1": "f32(b + 1)",
    "b + q[b, 0]": "f32(b) + q[b, 0]",
    "2 * q[b, 0]": "2.0 * q[b, 0]",
    "b / 2": "f32(b / 2)",
    "b / 2.0": "f32(b) / 2.0",
    "6 / 2": "3.0",
    "sqrt(D)": "sqrt(f32(D))",
    "abs(b)": "f32(abs(b))",
    "abs(q[b, 0])": "abs(q[b, 0])",
    "minimum(b, 2)": "f32(minimum(b, 2))",
    "minimum(b, 2.5)": "minimum(f32(b), 2.5)",
    "if b < 2 then 1 else q[b, 0]": "if b < 2 then 1.0 else q[b, 0]",
    "if b < 2.5 then 1 else 2": "f32(if f32(b) < 2.5 then 1 else 2)",
    "n[b]": "f32(n[b])",
    "if flags[b, 0] == (b > 1) then inf else -inf": "if flags[b, 0] == (b > 1) then inf else -inf",
    "if 1 <= b < 3 then 1.0 else 2.0": "if 1 <= b and b < 3 then 1.0 else 2.0",
    "-q[b, 0]": "-q[b, 0]",
    "+b": "f32(b)",
    "f32(n[b] >> 4 & 15)": "f32(n[b] >> 4 & 15)",
    "table[b, :] . table[b, :]": "f32(sum(c in C) table[b, c] * table[b, c])",
    "table[b, :] . (table[b, :] * 0.5)": "sum(c in C) f32(table[b, c]) * (f32(table[b, c]) * 0.5)",
    "-2 / 4.0": "-2.0 / 4.0",
    "2 - 3 % 2": "1.0",
    "-7 / (1 + 1)": "-4.0",
    "-7 % 4": "1.0",
}


@pytest.mark.parametrize("value", PROMOTED)
def test_promotion(value: str) -> None:
    assert text(value=value) == PROMOTED[value]


SIMPLE = {
    "D + P": "D + P",
    "P + D": "D + P",
    "2 * D - D": "D",
    "D - D": "0",
    "D + 1 + 1": "D + 2",
    "3 + (D - 3)": "D",
    "1 - D": "-D + 1",
    "(D + P) * 2": "2 * D + 2 * P",
    "(D + 1) * (D - 1)": "D * D - 1",
    "2 * D / 2": "D",
    "(4 * D + 6) / 2": "2 * D + 3",
    "D / 2 + D / 2": "2 * (D / 2)",
    "D / 1": "D",
    "b + (N - D)": "b + N - D",
    "N + b - D": "b + N - D",
    "0 * b": "0",
    "n[b] - n[b]": "n[b] - n[b]",
    "0 * n[b]": "0 * n[b]",
    "b / n[b] - b / n[b]": "b / n[b] - b / n[b]",
    "b * D + b": "b + b * D",
    "9223372036854775807 + 1": "-9223372036854775808",
    "minimum(D, D)": "D",
}


@pytest.mark.parametrize("value", SIMPLE)
def test_equal_integers_have_one_form(value: str) -> None:
    simple = SIMPLE[value]
    if simple.lstrip("-").isdigit():
        assert row(value=f"f32({value})") is not None
        constant = row(value=f"f32({value})")
        assert isinstance(constant, Constant) and constant.value == float(simple)
    else:
        assert text(value=f"f32({value})") == f"f32({simple})"


def test_a_parameter_is_no_dim() -> None:
    """Twice a parameter may wrap, so that half of that is not the parameter."""
    assert text(value="f32(2 * p / 2)", header="(p: int)") == "f32(2 * p / 2)"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("q[b, :] . w[:, 0]", "q[b, :] . w[:, 0]"),
        ("sum(d in D) q[b, d]", "sum(e in D) q[b, e]"),
        ("q[b, P + D]", "q[b, D + P]"),
        ("exp(q[b, 0])", "exp(q[b, 1 - 1])"),
    ],
)
def test_equal_expressions_are_one(left: str, right: str) -> None:
    both = row(value=f"({left}) - ({right})")
    assert getattr(both, "arguments")[0] is getattr(both, "arguments")[1]  # noqa: B009


def test_different_expressions_are_two() -> None:
    both = row(value="(sum(d in D) w[0, d]) - (sum(d in D) w[d, 0])")
    assert getattr(both, "arguments")[0] is not getattr(both, "arguments")[1]  # noqa: B009
    assert text(value="0.0 - -0.0") == "0.0 - -0.0"
