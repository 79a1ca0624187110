"""Where only edges of tiles are masked: what one sum leaves out the others read, and NaN stays out of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.driver.library import checked
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
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


INTERVALS = (
    *("j < {p}", "j >= {p}", "{p} <= j < {q}", "j / {p} == {q}"),
    *("j <= i", "j / 3 <= i / {q}", "i - {p} < j <= i + {q}"),
)
"""Keys that a row sees, with two small numbers: up to an end of a tile or beyond, from one on, or between."""

FOLDS = (
    *("sum(score)", "max(score)", "logsumexp(score)", "min(x[j,0])"),
    *("sum(score, {mask})", "max(score, {mask})", "min(score, {mask})", "logsumexp(score, {mask})"),
    "sum(sigmoid(score) * x[j,0], {mask})",
)
"""What a row makes of one score: of all keys or of those of an interval."""


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.data())
def test_each_reads_the_whole_score(data: st.DataObject) -> None:
    """Rows by themselves and tiles of them, whose first keys are seen while the last ones are not."""
    small = st.integers(1, 5)
    masks = data.draw(st.lists(st.sampled_from(INTERVALS), min_size=1, max_size=2))
    masks = [mask.format(p=data.draw(small), q=data.draw(small)) for mask in masks]
    folds = data.draw(st.lists(st.sampled_from(FOLDS), min_size=2, max_size=4))
    sums = [fold.format(mask=data.draw(st.sampled_from(masks))) for fold in folds]
    rows = data.draw(st.sampled_from(("M", "n[0]")))
    outputs = " ".join(f"output o{n} : f32[M]" for n in range(len(sums)))
    written = "\n".join(f"o{n}[i] = {text}" for n, text in enumerate(sums))
    inputs = "dims M, N, D, K input n : i32[K] input q : f32[M, D] input x : f32[N, D]"
    text = f"attention edges {{ {inputs} {outputs} each i in {rows} over j in N\nscore = q[i,:] . x[j,:]\n{written} }}"
    case = Case.make(check(Source(text)), seed=1, dims={"M": 5, "N": 11, "D": 8, "K": 1})
    program = compile_program(case.spec, case.types)
    case.check("numpy", program.run(case))
