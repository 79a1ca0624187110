"""What specialise says of dims that it cannot put a number for."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.driver.errors import PipelineError
from attndsl.driver.opt import run_passes

GQA = str(Path(__file__).parents[2] / "examples" / "gqa.attn")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("dims=D,E extents=128", "specialise has 2 dims and 1 extents for them"),
        ("dims=Q extents=128", "specialise knows no dim Q: no tensor has an extent made of it"),
        ("dims=D extents=-1", "specialise has -1 for D: an extent is never negative"),
    ],
)
def test_mistakes_are_told(options: str, message: str) -> None:
    with pytest.raises(PipelineError) as error:
        run_passes(GQA, f"specialise{{{options}}}", print_after_all=False, time_passes=False)
    assert str(error.value) == message
