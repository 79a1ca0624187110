"""A case on disk is the case that failed: values, strides and forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.inputs import LAYOUTS, relay
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.failures import NoCase, load, save
from attndsl.testing.fuzz import Example, Failure
from attndsl.testing.stages import Form

SPEC = """attention kept(p: int = 2, w: f32 = 0.5, flag: bool = true) {
    dims N, E
    types T
    input  x : T[N, E]
    input  y : f8e4m3[N, E]
    input  s : i32[]
    output o : T[N, E]
    each i in N
    o[i,:] = if flag then x[i,:] * w + y[i,:] else x[i - p + s[],:]
}"""


def example(element: str, layout: str, **dims: int) -> Example:
    case = Case.make(check(Source(SPEC, "kept.attn")), element, seed=1, hostile=True, dims=dims)
    arrays = {name: relay(array, layout) for name, array in case.poisoned().arrays.items()}
    return Example(case.given(**arrays), (Form("numpy", 4, 3), Form("triton", 16, 16, 2, True)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_a_case_comes_back_as_it_was(layout: str, element: str, tmp_path: Path) -> None:
    kept = example(element, layout, N=3, E=4)
    found = load(save(Failure(kept, None, AssertionError("wrong")), tmp_path / "failures"))
    assert found.forms == kept.forms
    for field in ("types", "dims", "params"):
        assert getattr(found.case, field) == getattr(kept.case, field)
    for name, array in kept.case.arrays.items():
        assert found.case.arrays[name].strides == array.strides
        np.testing.assert_array_equal(found.case.arrays[name].view(array.dtype), array)


def test_a_case_without_elements_comes_back(tmp_path: Path) -> None:
    found = load(save(Failure(example("f32", "sliced", N=0, E=2), None, AssertionError()), tmp_path))
    assert found.case.arrays["x"].shape == (0, 2)


def test_only_the_form_that_failed_is_kept(tmp_path: Path) -> None:
    kept = example("f32", "sliced", N=2, E=2)
    assert load(save(Failure(kept, kept.forms[0], AssertionError()), tmp_path)).forms == kept.forms[:1]


@pytest.mark.parametrize("broken", ["call.json", "inputs.npz", "case.attn"])
def test_a_folder_with_a_broken_file_is_no_case(broken: str, tmp_path: Path) -> None:
    place = save(Failure(example("f32", "sliced", N=2, E=2), None, AssertionError()), tmp_path)
    (place / broken).write_text("{")
    with pytest.raises(NoCase, match="holds no case"):
        load(place)
