"""Calls of drawn specs that tell a wrong gradient from a right one: how fast a number rises along a direction."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, partial
from math import prod

import numpy as np

from attndsl.checking.typed import Spec
from attndsl.diagnostics.base import SpecError
from attndsl.gradient import Gradient, NoGradient, backward, forward
from attndsl.gradient.derive import derive
from attndsl.gradient.forward import forward_text
from attndsl.gradient.text import source_text
from attndsl.testing import Case
from attndsl.testing.drawn_inputs import extents
from attndsl.testing.rewriting import parsed
from tests.gradient.differences import Arrays, Weighed, agree, rises, widened_call

from .mutant import GRADIENT, Mutant, Unsound, made_with

MOST_PAIRS = 64
"""Rows times keys: examples of more take too long for what they tell."""


def derivative(spec: Spec) -> Gradient:
    """The gradient of a spec before its texts are read again, which takes most of the time. Raises NoGradient."""
    derived = derive(spec)
    texts = forward_text(spec, derived), source_text(derived.backward, derived.names)
    return Gradient(*texts, (), derived.cotangents, derived.gradients)


class Ascent:
    """A call in float64, and a direction of all its inputs. Raises NoGradient."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._right = derivative(case.spec)

    @property
    def said(self) -> str:
        """What tells it from others."""
        return f"{self.case.spec.source.text} {self.case} {self.case.params}"

    @property
    def is_telling(self) -> bool:
        """Whether all numbers are such."""
        return self._weighed.is_number and not self._weighed.reads_infinity

    def takes(self, mutant: Mutant) -> bool:
        """Whether it can tell a mutant."""
        return True

    def caught(self, mutants: Collection[Mutant]) -> dict[Mutant, str]:
        """The mutants that it catches. Raises Unsound where the right gradient is wrong."""
        return {mutant: GRADIENT for mutant in mutants if self._shows(mutant)}

    def _shows(self, mutant: Mutant) -> bool:
        spoilt = made_with(mutant, partial(derivative, self.case.spec))
        if spoilt is None or spoilt == self._right or self._slope is None:
            return False
        if not self._is_right:
            raise Unsound(f"{self.case.spec.source.text}{self.case} {self.case.params}")
        return self._is_wrong(spoilt)

    @cached_property
    def _weighed(self) -> Weighed:
        return Weighed(self.case)

    @cached_property
    def _way(self) -> Arrays:
        return self._weighed.way(self._right.gradients)

    @cached_property
    def _slope(self) -> float | None:
        return self._weighed.slope(self._way)

    @cached_property
    def _is_right(self) -> bool:
        return not self._is_wrong(self._right)

    def _is_wrong(self, found: Gradient) -> bool:
        assert self._slope is not None
        try:
            gradients = self._weighed.gradients(found)
        except SpecError:  # that it is no spec is told at once
            return False
        with np.errstate(all="ignore"):
            return not agree(self._slope, rises(self._way, gradients))


def read_once() -> None:
    """Has what derives gradients parse a text once, and not for each mutant."""
    for module in (backward, forward):
        module.parse = lambda source: parsed(source.text)  # type: ignore[attr-defined]  # it is imported there


def ascent_of(case: Case) -> Ascent | None:
    """The ascent of a call whose spec has a gradient, where there are few pairs of rows and keys."""
    pairs = (prod(each) * prod(over) for each, over in extents(case.spec, case.dims, case.params))
    if max(pairs) > MOST_PAIRS:
        return None
    try:
        derive(case.spec)
        found = Ascent(widened_call(case))
    except NoGradient:
        return None
    return found if found.is_telling else None
