"""Specs of the gallery that learn something more: they train at once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from attndsl.checking.check import check
from attndsl.gradient import gradient
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.choices import Choices

from .differences import slopes_differ, widened
from .learned import KINDS, Learned, draw_learned
from .test_gallery import NAMES, NONE, text_of

TRAINED = [name for name in NAMES if name not in NONE]


@st.composite
def learned(draw: DrawFn) -> Learned:
    """A spec of the gallery with one more tensor that is learned, or two."""
    choices = Choices(draw)
    found = draw_learned(choices, text_of(choices.of(TRAINED)))
    return draw_learned(choices, found.text, "other") if choices.of((False, False, True)) else found


@pytest.mark.parametrize("count", [6, pytest.param(42, marks=pytest.mark.matrix)])
def test_it_trains(count: int) -> None:
    """What a spec of the gallery learns besides has the gradient that differences tell; other specs for each count."""
    seen: Counter[str] = Counter()

    @seed(count)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(learned())
    def draw(found: Learned) -> None:
        check(Source(found.text))
        spec = widened(found.text)
        derived = gradient(spec)
        assert "learned" in derived.gradients
        assert slopes_differ(spec, Case.make(spec, "f64", seed=1, hostile=True), derived) == []
        seen[found.what] += 1

    draw()
    assert seen.keys() == KINDS.keys() or count < 42
