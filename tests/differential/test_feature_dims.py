"""Code for known feature dims, which cuts and shares their axes, beside the reference at each stage."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import SIMPLIFY, spelling
from attndsl.driver.summarise import feature_dims
from attndsl.ir.build import build
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.testing import Case

NAMES = (
    "int4_cache", "mla_paged", "mla_projections", "packed_ragged", "qk_norm", "rotary", "shared_prefix",
)  # fmt: skip
"""Specs of the gallery that differ in what they do with their feature dims."""

SIZES = ((0, 1), (40, 24), (96, 64))
"""Extents of the feature dims, in turn: nothing and one, pieces that are padded, pieces that are not."""

PASSES = (
    "specialise{{dims={dims} extents={extents}}},{simplify},bound-loops,split-axes,{simplify},share-operands,"
    "pack-rows,{simplify},stream-softmax,{simplify},tile{{rows=4 keys=3}},canonicalize,cse"
)


FEW = ("B", "C", "H", "Hq", "Hkv")


def check_specialised(case: Case, sizes: dict[str, int]) -> None:
    """Raises Disagreement where a stage of the code made for these extents gives something else than the reference."""
    module = build(case.spec, case.types)

    def after(name: str, module: ModuleOp, changed: bool) -> None:
        if changed:
            case.check(name, interpret(module, case.arrays, case.dims, case.params))

    dims, extents = ",".join(sizes), ",".join(map(str, sizes.values()))
    passes = parse_pipeline(PASSES.format(dims=dims, extents=extents, simplify=spelling(SIMPLIFY)))
    run_pipeline(module, passes, after, verify_each=False)


@pytest.mark.parametrize("name", NAMES)
def test_code_for_known_feature_dims_agrees(name: str, spec_of: Any) -> None:
    spec, tried = spec_of(name), 0
    names = feature_dims(spec)
    for pair in SIZES:
        sizes = {dim: pair[number % 2] for number, dim in enumerate(names)}
        try:
            case = Case.make(spec, dims={**{dim: 2 for dim in FEW if dim in spec.dims}, **sizes})
        except ValueError:  # the spec asks for other extents
            continue
        check_specialised(case.poisoned(), sizes)
        tried += 1
    assert tried > 0
