"""Specs, extents, tiles and inputs that hypothesis draws: the same ones at each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attndsl.checking.check import check
from attndsl.inputs import LAYOUTS
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages
from attndsl.testing.specs import Drawn, specs

GALLERY = sorted(path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.attn"))

bounded = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), max_examples=25
)
"""So many that a run takes seconds; each failure that is found is kept in `regressions`."""


@bounded
@given(
    specs(),
    st.integers(0, 9),
    st.booleans(),
    st.sampled_from([(4, 3), (3, 2), (1, 1), (128, 512)]),
    st.sampled_from(["f32", "f64", "bf16"]),
)
def test_drawn_specs_agree_at_every_stage(
    drawn: Drawn, seed: int, hostile: bool, tiles: tuple[int, int], element: str
) -> None:
    spec = check(Source(drawn.text, "drawn.attn"))
    case = Case.make(spec, element, seed, drawn.dims, hostile=hostile)
    check_stages([case.poisoned()], *tiles)


@settings(bounded, max_examples=60)
@given(
    name=st.sampled_from(GALLERY),
    seed=st.integers(0, 99),
    hostile=st.booleans(),
    layout=st.sampled_from([None, *LAYOUTS]),
    tiles=st.sampled_from([(4, 3), (3, 7)]),
)
def test_drawn_calls_of_the_gallery_agree(
    name: str, seed: int, hostile: bool, layout: str | None, tiles: tuple[int, int], spec_of: Any, program_of: Any
) -> None:
    case = Case.make(spec_of(name), "f32", seed, hostile=hostile, layout=layout)
    case.check("numpy", program_of(name, "f32", *tiles).run(case))
