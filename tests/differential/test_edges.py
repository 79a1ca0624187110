"""NaN and infinities of a key where only edges of tiles are masked: rows that do not see it keep every bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.driver.library import checked
from attndsl.syntax.read import read_source
from attndsl.testing import Case
from attndsl.testing.stages import compile_program

EXAMPLES = Path(__file__).parents[2] / "examples"

EDGES = ("causal_end", "chunked_local", "sliding_window", "prefix_lm", "retention")
"""Specs whose masks end tiles of keys in the middle: at a stop, at a start, at both, in a sum that is no softmax."""


@pytest.mark.parametrize("name", EDGES)
def test_rows_that_do_not_see_a_key_keep_every_bit(name: str) -> None:
    case = Case.make(checked(read_source(str(EXAMPLES / f"{name}.attn"))), dims={"B": 1, "M": 7, "N": 10}, seed=3)
    program = compile_program(case.spec, case.types)
    v = case.arrays["v"]
    usual = program.run(case)["o"]
    told = 0
    for key in range(v.shape[-2]):
        larger, odd = v.copy(), v.copy()
        larger[..., key, :] += 1
        odd[..., key, :] = (np.nan, np.inf, -np.inf)[key % 3]
        sees = (program.run(case.given(v=larger))["o"] != usual).any(axis=-1)
        found = program.run(case.given(v=odd))["o"]
        assert np.array_equal(found[~sees], usual[~sees])
        assert not np.isfinite(found[sees]).any()
        told += sees.any() and not sees.all()
    assert told > 0, "no key is seen by some rows and not by others"
