"""Programs whose products are made in slices, for CPUs that multiply faster so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.driver.compile import compile_spec
from attndsl.testing import Case, Program

SIZES = {"B": 1, "H": 1, "Hq": 2, "Hkv": 1, "M": 32, "N": 40, "D": 40, "E": 32, "R": 40, "S": 8}
"""Tiles have rows that slices divide, and columns enough."""


def function(source: str, name: str) -> Any:
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    return namespace[name]


def sliced(case: Case) -> Program:
    source = compile_spec(case.spec, case.types, "numpy", machine="cpu:slices").source
    assert "_by_eights" in source.split("@np.errstate")[1]
    return Program(source, function(source, case.spec.name))


@pytest.mark.parametrize("name", ["gqa", "encoder", "sliding_window", "mla_latent", "lse"])
def test_they_agree(name: str, spec_of: Any) -> None:
    spec = spec_of(name)
    case = Case.make(spec, dims={dim: size for dim, size in SIZES.items() if dim in spec.dims}, seed=5)
    case.check("numpy", sliced(case).run(case))


def test_a_key_that_a_row_does_not_see_changes_no_bit_of_it(spec_of: Any) -> None:
    """What is made once more, without it, is made in slices too: the order of long sums differs."""
    case = Case.make(spec_of("causal_end"), dims={**SIZES, "N": 500, "E": 72}, seed=5)
    program = sliced(case)
    v = case.arrays["v"].copy()
    v[..., -1, :] = np.nan  # of the key that the last row alone sees
    clean, odd = (program.run(each)["o"][..., :-1, :] for each in (case, case.given(v=v)))
    np.testing.assert_array_equal(odd.view(np.uint8), clean.view(np.uint8))


@pytest.mark.parametrize("columns", [8, 40, 300])
@pytest.mark.parametrize("terms", [0, 1, 64, 600])
@pytest.mark.parametrize("rows", [0, 8, 12, 136])
def test_slices_are_the_whole(rows: int, terms: int, columns: int) -> None:
    by_eights = function(PRELUDE["_by_eights"], "_by_eights")
    random = np.random.default_rng(rows + terms + columns)
    a, b = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((rows, terms), (terms, columns)))
    wanted = a @ b  # of small integers: exact, whatever the order
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b), np.repeat(b, 2, axis=0)[::2]):
            out = np.full((rows, columns), np.nan, np.float32)
            np.testing.assert_array_equal(by_eights(left, right), wanted)
            by_eights(left, right, out=out)
            np.testing.assert_array_equal(out, wanted)
