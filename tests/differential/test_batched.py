"""A batch of calls is its calls, and a call its parts, by the reference, over specs that hypothesis draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.diagnostics.base import SpecError
from attndsl.driver import independent
from attndsl.op.batches import batched_source
from attndsl.reference.interpreter import reference
from attndsl.syntax import batched
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.drawn_specs import Drawn, specs

Check = Callable[[Drawn, int], None]


def check_batch(drawn: Drawn, seed: int) -> None:
    """Each of two calls has its own of some inputs; what is written in place is among them."""
    spec = check(Source(drawn.text))
    one = Case.make(spec, seed=seed, dims=drawn.dims)
    cases = [one, Case.make(spec, seed=seed + 1, dims=drawn.dims, params=one.params)]
    names = [t.name for n, t in enumerate(spec.inputs) if t.role == "inout" or seed >> n % 8 & 1]
    if not names:
        return
    first = cases[0].arrays
    calls = [{name: case.arrays[name] if name in names else first[name] for name in first} for case in cases]
    together = {n: np.stack([call[n] for call in calls]) if n in names else array for n, array in first.items()}
    types = cases[0].types
    batch = check(batched_source(Source(drawn.text), names)).where(types)
    found = reference(batch, together, cases[0].params)
    for lane, call in enumerate(calls):
        for name, wanted in reference(spec.where(types), call, cases[0].params).items():
            np.testing.assert_array_equal(found[name][lane], wanted)


def check_parts(drawn: Drawn, seed: int) -> None:
    """Two halves of a call give its halves."""
    spec = check(Source(drawn.text))
    case = Case.make(spec, seed=seed, dims=drawn.dims)
    whole = reference(case.spec, case.arrays, case.params)
    for cut in independent.cuts(spec):
        sizes = {name: array.shape[cut.axes[name]] for name, array in case.arrays.items() if name in cut.axes}
        if any(size % 2 for size in sizes.values()) if cut.even else not all(size > 1 for size in sizes.values()):
            continue
        for start, stop in ((0, 1), (1, 2)):

            def part(name: str, array: Any, start: int = start, stop: int = stop, axes: Any = cut.axes) -> Any:
                if name not in axes:
                    return array
                size = array.shape[axes[name]]
                return np.take(array, range(start * size // 2, size if stop == 2 else size // 2), axis=axes[name])

            arrays = {name: part(name, array) for name, array in case.arrays.items()}
            for name, found in reference(case.spec, arrays, case.params).items():
                np.testing.assert_array_equal(found, part(name, whole[name]))


CHECKS = {"batch": check_batch, "parts": check_parts}


def holds(law: str, examples: int) -> None:
    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @seeded(7)
    @given(drawn=specs(), seed=st.integers(0, 255))
    def drawn_specs(drawn: Drawn, seed: int) -> None:
        CHECKS[law](drawn, seed)

    drawn_specs()


@pytest.mark.parametrize("law", CHECKS)
def test_drawn_specs_keep_the_law(law: str) -> None:
    holds(law, 6)


@pytest.mark.matrix
@pytest.mark.parametrize("law", CHECKS)
def test_many_drawn_specs_keep_the_law(law: str) -> None:
    holds(law, 150)


def no_places(*_: Any) -> bool:
    return True


def anything(self: Any, *exprs: Any) -> None:
    """Dims may stand anywhere."""


FAULTS: dict[str, tuple[str, Any, str, Any]] = {
    "a definition before the first block has no lane": ("batch", batched, "_definitions", lambda *_: {}),
    "any subscript is the row's own": ("parts", independent._Group, "_is_own", no_places),
    "a value may rest on the place of a row": ("parts", independent._Group, "_check_value", anything),
}


@pytest.mark.matrix
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_met(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law, where, name, planted = FAULTS[fault]
    monkeypatch.setattr(where, name, planted)
    with pytest.raises((AssertionError, SpecError)):
        holds(law, 150)
