"""Drawn specs and calls: each has a gradient that is a spec, and right, or words that say why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from attndsl.checking.check import check
from attndsl.checking.elements import usual_element
from attndsl.gradient import NoGradient, gradient
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.fuzz import Compiler, Example, FuzzPlan, examples

from .differences import call_of, compared, own, widened_call

BROKEN = "would be no spec"


def each_drawn(count: int, plan: FuzzPlan, test: Callable[[Example], None]) -> None:
    """Tries examples of a plan, the same ones each time, and others for another count."""

    @seed(count)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(examples(plan))
    def draw(example: Example) -> None:
        test(example)

    draw()


def test_a_gradient_or_words() -> None:
    refused: list[str] = []

    def has_one(example: Example) -> None:
        try:
            found = gradient(example.case.spec)
        except NoGradient as error:
            refused.append(str(error))
            return
        for text in (found.forward, found.backward):
            check(Source(text))

    each_drawn(20, FuzzPlan(None, ()), has_one)
    assert sum(BROKEN in said for said in refused) <= 1, "what the language cannot say is rare"


@pytest.mark.parametrize("count", [10, pytest.param(60, marks=pytest.mark.matrix)])
def test_the_result_rises_as_gradients_say(count: int) -> None:
    """Rows without keys, extents of 0 and 1, absent keys, and NaN in memory that no row sees among them."""
    slopes = inputs = 0

    def rises(example: Example) -> None:
        nonlocal slopes, inputs
        case = widened_call(example.case)
        try:
            found = gradient(case.spec)
        except NoGradient:
            return
        wrong, settled = compared(case, found)
        assert wrong == [], case.spec.source.text
        slopes += settled
        inputs += len(found.gradients)

    each_drawn(count, FuzzPlan(None, (), elements=("f64",)), rises)
    assert slopes > inputs / 2 > 0, "kinks are rare"


@pytest.mark.parametrize("count", [6, pytest.param(24, marks=pytest.mark.matrix)])
def test_compiled_backwards_agree_with_the_reference(count: int) -> None:
    """In f32, of what the forward gives, with NaN in memory that no row of the backward sees."""
    compiler, ran = Compiler("cpu"), 0

    def agrees(example: Example) -> None:
        nonlocal ran
        case = example.case
        try:
            found = gradient(case.spec)
        except NoGradient:
            return
        backward = check(Source(found.backward))
        types = {name: usual_element(choices) for name, choices in backward.types.items()} | dict(case.types)
        given = call_of(found, backward, case, types)
        call = Case(backward, types, case.dims, own(backward, case.params), given).poisoned()
        (form,) = example.forms
        compiler.check(call, form, thorough=ran % 10 == 0)
        ran += 1

    each_drawn(count, FuzzPlan(None, ("numpy",), elements=("f32",)), agrees)
    assert ran > count / 3
