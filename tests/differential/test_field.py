"""What went silently wrong for others, at every stage of the NumPy program and in the IR that becomes Triton."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from attndsl.ir.interpret import interpret
from attndsl.testing import Case, Disagreement, check_stages
from attndsl.testing.stages import Form, choices_of, lower
from tests.differential.field_cases import FIELD, FieldCase, case_of

Array = np.ndarray[Any, Any]


def compiled_alike() -> Iterator[tuple[str, list[FieldCase]]]:
    """The cases in groups that one compilation serves, each with the name of its first one."""

    def key(case: FieldCase) -> tuple[object, ...]:
        return case.spec, case.tiles, case.known and tuple(case.dims.items())

    for _, group in groupby(sorted(FIELD, key=lambda case: str(key(case))), key):
        together = list(group)
        yield f"{together[0].spec}: {together[0].name}", together


@pytest.mark.parametrize("together", [pytest.param(group, id=name) for name, group in compiled_alike()])
def test_it_is_right_here(together: list[FieldCase]) -> None:
    cases = [case_of(each) for each in together]
    (rows, keys), known = together[0].tiles, together[0].known
    triton = Form("triton", rows, keys, known=known)
    module = lower(cases[0], triton)
    try:
        check_stages(cases, form=Form(rows=rows, keys=keys, known=known))
        for case in cases:
            for splits in (1, 3):
                choices = {**choices_of(triton), "SPLITS": splits}
                found = interpret(module, case.arrays, case.dims, case.params, choices)
                case.check(f"triton, {splits} splits", found)
    except Disagreement as error:
        given = together[next(n for n, case in enumerate(cases) if case is error.case)]
        raise AssertionError(f"{given.name}: {given.why}") from error


def named(name: str) -> Case:
    return case_of(next(case for case in FIELD if case.name == name))


def wanted(name: str) -> dict[str, Array]:
    return named(name).wanted


def test_the_reference_says_what_the_field_expects() -> None:
    """Else a bug that the reference shares would pass."""
    rows = wanted("rows that lack their first, last or all keys beside others")
    assert (rows["o"][2] == 0).all() and np.isneginf(rows["lse"][2])
    assert np.isfinite(np.delete(rows["lse"], 2)).all() and np.isfinite(rows["o"]).all()
    before = wanted("more queries than keys under a mask that ends with them")
    assert (before["o"][:, :, :5] == 0).all() and np.isneginf(before["lse"][:, :, :5]).all()
    assert np.isfinite(before["lse"][:, :, 5:]).all()
    assert (wanted("a list of keys that is all -1")["o"][:, :, 1:] == 0).all()
    assert (wanted("an empty request in the middle of a paged batch")["o"][1] == 0).all()
    one_key = wanted("nan as value 6")["o"]
    assert np.isfinite(one_key[:3]).all() and np.isnan(one_key[3]).all()
    infinite = wanted("one plus infinity")["o"]
    assert np.isnan(infinite[1]).all() and np.isfinite(np.delete(infinite, 1, axis=0)).all()
    assert np.isfinite(wanted("far below -5e4")["o"]).all() and (wanted("far below -5e4")["o"] != 0).all()


def test_what_is_not_used_is_not_finite() -> None:
    for name, tensor in (("NaN past the last length", "v"), ("NaN in unused slots of a page", "v_pages")):
        case = named(name)
        assert not np.isfinite(case.arrays[tensor]).all() and np.isfinite(case.wanted["o"]).all()
