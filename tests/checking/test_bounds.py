"""Bounds of extents that read data."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.checking.text import expression_text
from attndsl.diagnostics import SpecError
from attndsl.driver.compile import compile_spec
from attndsl.syntax.source import Source

from .specs import checked

KEYS = {
    "k[b, j, 0]": "N",
    "k[b, n[b] + j, 0]": "N",
    "k[b, j + 1, 0]": "N",
    "k[b, j - 1, 0]": "N + 1",
    "k[b, j - S, 0]": "N + S",
    "k[b, 2 * j, 0]": "(N + 1) / 2",
    "k[b, j / 4, 0]": "4 * N",
    "k[b, n[b] + j / S, 0]": "N * S",
    "k[b, (j + 3) / 4, 0]": "4 * N",
    "pages[table[b, j / S], j % S, 0]": "S * C",
    "k[b, j, 0] * q[b, j]": "minimum(N, D)",
    "k[b, j, 0] * pages[j, 0, 0] * q[b, j]": "minimum(D, minimum(N, P))",
    "(if j < 2 then k[b, j, 0] else q[b, j])": "maximum(N, D)",
    "(if j < S then k[b, j, 0] else k[b, j - S, 0])": "N + S",
    "(if flags[b, j] then 1 else 0)": "N",
    "k[b, :, j] . k[b, :, j]": "D",
    "k[b, j, :] . q[b, :]": "N",
}
NOTHING = (
    "1.0",
    "k[b, j % 4, 0]",
    "k[b, 5 - j, 0]",
    "k[b, j * j, 0]",
    "k[b, j - n[b], 0]",
    "k[b, j + j / 2, 0]",
    "(if j < 2 then k[b, j, 0] else 0.0)",
    "(if b < 2 and flags[b, j] then 1 else 0)",
)


def bound(value: str, extent: str = "n[b]") -> str:
    spec = checked(f"over j in {extent}", value=value)
    return expression_text(spec.blocks[0].over[0].bound)


@pytest.mark.parametrize("value", KEYS)
def test_a_key(value: str) -> None:
    assert bound(f"sum({value})") == KEYS[value]


@pytest.mark.parametrize("value", NOTHING)
def test_nothing_bounds_a_key(value: str) -> None:
    with pytest.raises(SpecError, match="E402"):
        bound(f"sum({value})")


def test_a_mask_bounds_too() -> None:
    assert bound("sum(1.0, flags[b, j])") == "N"


def test_of_several_reductions_the_largest() -> None:
    assert bound("sum(k[b, j, 0]) + max(q[b, j])") == "maximum(N, D)"
    assert bound("sum(k[b, j, 0]) + max(k[b, j - 2, 0])") == "N + 2"
    with pytest.raises(SpecError, match="E402"):
        bound("sum(k[b, j, 0]) + sum(1.0)")


def test_what_is_stated_stands() -> None:
    assert bound("sum(k[b, j, 0])", "n[b] up to 2 * N") == "2 * N"


def test_an_extent_without_data_is_its_own_bound() -> None:
    assert bound("sum(k[b, j, 0])", "b + 1") == "b + 1"


def test_a_row_is_bounded_by_what_it_writes() -> None:
    spec = check(
        Source("""attention test {
            dims B, M, L
            input x : f32[M]
            input cu : i32[L]
            output o : f32[2 * M]
            output p : f32[B]
            input y : f32[B]
            each b in L - 1, i in cu[b + 1] - cu[b]
            o[cu[b] + i + L - L] = x[cu[b] + i]
            p[b + i / 3] = y[0]
        }""")
    )
    assert expression_text(spec.blocks[0].each[1].bound) == "maximum(2 * M, 3 * B)"


@pytest.mark.parametrize(("place", "wanted"), [("i, k", "M"), ("i, i + k", "M"), ("i, k * 2", "(M + 1) / 2")])
def test_a_row_whose_number_depends_on_another_is_bounded_too(place: str, wanted: str) -> None:
    """A launch counts programs, as many for every value of the index before."""
    head = "attention test { dims N, M input x : f32[N, M] output o : f32[N, M]"
    spec = check(Source(f"{head} each i in N, k in i + 1 o[{place}] = x[i, k] }}"))
    compile_spec(spec, {}, "triton")
    assert expression_text(spec.blocks[0].each[1].bound) == wanted


def test_nothing_bounds_a_row_that_is_written_anywhere() -> None:
    head = "attention test { dims N input x : f32[N] output o : f32[N, N]"
    with pytest.raises(SpecError, match="E402"):
        check(Source(f"{head} each i in N, k in i + 1 o[i, k % N] = x[i] }}"))
