"""Bugs planted in how a block gives back that drawn specs seldom meet (tests/mutants): each is found where it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attndsl.gradient import block
from attndsl.gradient.algebra import Algebra
from attndsl.gradient.block import BlockBackward
from attndsl.gradient.nests import nest_of
from attndsl.testing import Case

from .differences import slopes_differ, widened

EXAMPLES = Path(__file__).parents[2] / "examples"

RAGGED = """attention ragged {
    dims M, N
    input  x : f64[M]
    input  k : f64[N]
    input  n : i32[M]
    output o : f64[M]
    each i in M
    over j in n[i]
    o[i] = sum(exp(0.1 * x[i] * k[j]))
}"""
"""Rows of different lengths, whose keys are shared: summed over rows, a length is a condition."""

CONSTANT = """attention constant {
    dims M, N, D
    input  x : f64[M]
    input  y : f64[N, D]
    output o : f64[M]
    each i in M
    over j in N
    o[i] = sum(sum(d in D) x[i]) + sum(y[j,0])
}"""
"""What is added up along an axis that it does not have."""

Patch = Callable[[pytest.MonkeyPatch], None]


def ends_of_rows_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "nest_of", lambda *given: replace(nest_of(*given), inside=None))


def largest_at_the_first_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockBackward, "_place", lambda self, _: self._algebra.number(0))


def largest_among_keys_that_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    original = BlockBackward._place
    monkeypatch.setattr(BlockBackward, "_place", lambda self, reduce: original(self, replace(reduce, mask=None)))


def constant_along_an_axis_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Algebra, "extent", lambda self, _: self.number(1.0))


PLANTED: list[tuple[Patch, str]] = [
    (ends_of_rows_forgotten, RAGGED),
    (largest_at_the_first_key, "qk_clip"),
    (largest_among_keys_that_are_masked, "qk_clip"),
    (constant_along_an_axis_counts_once, CONSTANT),
]


@pytest.mark.parametrize(
    ("patch", "name"), PLANTED, ids=lambda each: each.split()[0] if isinstance(each, str) else each.__name__
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_found(patch: Patch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = widened(name if "{" in name else (EXAMPLES / f"{name}.attn").read_text(encoding="utf-8"))
    case = Case.make(spec, "f64", seed=1, hostile=True)
    assert slopes_differ(spec, case) == []
    patch(monkeypatch)
    assert slopes_differ(spec, case) != []
