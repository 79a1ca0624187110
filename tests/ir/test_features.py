"""Which dims code is made for: those that say how large a tile's feature axes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.driver.opt import load_module
from attndsl.ir.build import build
from attndsl.ir.features import feature_dims
from attndsl.syntax.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "dims"), [("gqa", {"D", "E"}), ("mla_projections", {"D", "E", "R", "P"}), ("int4_cache", {"D", "E"})]
)
def test_feature_dims_of_the_gallery(name: str, dims: set[str]) -> None:
    assert set(feature_dims(load_module(str(EXAMPLES / f"{name}.attn")))) == dims


def test_an_extent_that_is_computed_rests_on_its_dims() -> None:
    spec = check(
        Source(
            """attention halves {
                dims M, D, E
                input  x : f32[M, D, E]
                output o : f32[M]
                each i in M
                o[i] = sum(d in D / 2 + E) x[i, d, 0]
            }"""
        )
    )
    assert feature_dims(build(spec, {})) == ("D", "E")
