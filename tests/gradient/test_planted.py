"""Bugs planted in how a block gives back: each makes a gradient of the gallery wrong, and is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attndsl.checking.typed import IndexValue, walk
from attndsl.gradient import backward, block
from attndsl.gradient.block import BlockBackward
from attndsl.gradient.nests import nest_of
from attndsl.gradient.sweep import sweep
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

Patch = Callable[[pytest.MonkeyPatch], None]


def delta_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockBackward, "_delta", lambda self, *_: self._algebra.number(0.0))


def sinks_take_the_other_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    original = BlockBackward._of_sink

    def other(self: BlockBackward, *given: Any) -> Any:
        return [(sink, part._replace(value=self._algebra.negate(part.value))) for sink, part in original(self, *given)]

    monkeypatch.setattr(BlockBackward, "_of_sink", other)


def cotangents_are_the_adjoints_of_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row makes of a reduction is forgotten."""
    original = BlockBackward._kept
    monkeypatch.setattr(
        BlockBackward,
        "_kept",
        lambda self, reduce, adjoint: original(self, reduce, adjoint._replace(value=_first(self))),
    )


def _first(self: BlockBackward) -> Any:
    write = next(iter(self._values))
    return self._backward.cotangent(write.tensor, tuple(map(self._moved, write.indices)))


def ends_of_rows_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "nest_of", lambda *given: replace(nest_of(*given), inside=None))


def rows_that_share_an_element_overwrite_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward, "told_apart", lambda places: {e for place in places for e in _variables(place)})


def _variables(place: Any) -> set[Any]:
    return {expr.index for expr in walk(place) if isinstance(expr, IndexValue)}


def masks_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        block, "sweep", lambda a, roots, wanted, mask=None, keep=None: sweep(a, roots, wanted, None, keep)
    )


def largest_at_the_first_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockBackward, "_place", lambda self, _: self._algebra.number(0))


PLANTED: list[tuple[Patch, str]] = [
    (delta_forgotten, "gqa"),
    (sinks_take_the_other_sign, "sinks"),
    (cotangents_are_the_adjoints_of_reductions, "gated_output"),
    (ends_of_rows_forgotten, RAGGED),
    (rows_that_share_an_element_overwrite_it, "gqa"),
    (masks_forgotten, "causal_end"),
    (largest_at_the_first_key, "qk_clip"),
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
