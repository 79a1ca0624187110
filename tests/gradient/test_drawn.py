"""Drawn specs: each has a gradient that is a spec, or words that say why not."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from attndsl.checking.check import check
from attndsl.gradient import NoGradient, gradient
from attndsl.syntax.source import Source
from attndsl.testing.fuzz import Example, FuzzPlan, examples

BROKEN = "would be no spec"


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.matrix)])
def test_a_gradient_or_words(count: int) -> None:
    refused: list[str] = []

    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(examples(FuzzPlan(spec=None, backends=("numpy",))))
    def draw(example: Example) -> None:
        try:
            found = gradient(example.case.spec)
        except NoGradient as error:
            refused.append(str(error))
            return
        for text in (found.forward, found.backward):
            check(Source(text))

    draw()
    assert sum(BROKEN in said for said in refused) <= count // 20, "what the language cannot say is rare"
