"""The operations that `attndsl explain` counts are those that the IR's interpreter does."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.typed import Reduce, Spec, walk
from attndsl.driver.library import artifact_of, checked, signature_of
from attndsl.driver.passes import run_pipeline
from attndsl.driver.unmasked import unmasked
from attndsl.ir import interpret as interpreter
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.build import build
from attndsl.ir.interpret import SMALL_CHOICES, Run, interpret
from attndsl.ir.work import contracted, work_of
from attndsl.ir.xdsl import Operation, SSAValue
from attndsl.op.explain import computed, explain, traffic
from attndsl.syntax.read import read_source
from attndsl.testing.case import Case
from attndsl.testing.stages import Form

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = sorted(path.stem for path in EXAMPLES.glob("*.attn"))
CHOSEN = [{**SMALL_CHOICES, "SPLITS": 1}, {"ROWS": 2, "KEYS": 5, "SPLITS": 3}]
UNLIKE = ("gqa", "differential", "int4_cache", "mla_projections", "packed_ragged", "paged_decode", "qk_norm", "rotary")
"""Specs that differ in what they contract, and where ranges end."""

POSITIONS = {"append_paged": ("length", {"M": 2, "N": 5})}
"""The input that says where rows stand, where it may not be 0: rows without keys are made again, with maxima."""

NOTHING_CONTRACTED = ("quantise_int8",)


class Counting(Run):
    """Counts the terms of the contractions that it does, by the extents of what it has in hand."""

    count = 0

    def run(self, op: Operation) -> None:
        axes: frozenset[SSAValue] = contracted(op, AxesAnalysis())
        Counting.count += 2 * math.prod(self.values[axis].array.size for axis in axes) if axes else 0
        super().run(op)


def spec_of(name: str) -> Spec:
    return checked(read_source(EXAMPLES / f"{name}.attn"))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, target) for target in ("numpy", "triton") for name in UNLIKE),
        *(pytest.param(name, "numpy", marks=pytest.mark.matrix) for name in GALLERY if name not in UNLIKE),
    ],
)
def test_the_interpreter_does_as_many(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With extents that tiles divide and that they do not, the keys not split and in three where they can be.

    No numbers are so large that something is computed anew: nobody counts that before a call.
    """
    monkeypatch.setattr(interpreter, "Run", Counting)
    spec = unmasked(spec_of(name))
    positions, few = POSITIONS.get(name, (None, None))
    cases = [Case.make(spec, seed=seed, dims=few) for seed in (0, 1)]
    module = build(spec, cases[0].types)
    size = 4 if target == "numpy" else 0
    run_pipeline(module, Form(target, rows=size, keys=size).passes(cases[0]))
    for case, choices in zip(cases, CHOSEN, strict=True):
        tame = {
            name: np.full_like(array, 0 if array.dtype.kind in "iu" else 0.125) for name, array in case.arrays.items()
        }
        if positions is not None:
            tame[positions][...] = case.dims["N"]
        Counting.count = 0
        interpret(module, tame, case.dims, case.params, choices)
        assert Counting.count == work_of(module, case.dims, case.params, choices)
        assert (Counting.count > 0) == (name not in NOTHING_CONTRACTED)


@pytest.mark.parametrize("name", GALLERY)
def test_an_unmasked_spec_has_no_mask(name: str) -> None:
    spec = unmasked(spec_of(name))
    values = [write.value for block in spec.blocks for write in block.writes]
    assert all(expr.mask is None for expr in walk(*values) if isinstance(expr, Reduce))
    assert all(index.extent is index.bound for block in spec.blocks for index in (*block.each, *block.over))


def test_what_is_made_anew_for_each_tile_counts_each_time() -> None:
    """Norms of keys, of which a tile of 128 rows makes all."""
    source = read_source(EXAMPLES / "qk_norm.attn")
    artifact = artifact_of(source, {"T": "f32"}, "numpy")
    dims = {"B": 1, "Hq": 1, "Hkv": 1, "M": 384, "N": 700, "D": 8, "E": 4}
    norms, attended = 2 * (384 + 700) * 8, 2 * 384 * 700 * (8 + 4)
    done = norms + 2 * 2 * 700 * 8 + attended
    assert computed(source, artifact, dims, norms + attended) == done
    assert traffic(signature_of(source), artifact.types, dims).work == norms + attended
    assert f"{done / 1e6:.3g} Mflop, of which the spec needs " in explain(source, artifact, dims)


def test_what_is_made_before_all_tiles_counts_once() -> None:
    """Keys and values from a latent; for few queries these are projected instead, and the results."""
    source = read_source(EXAMPLES / "mla_projections.attn")
    artifact = artifact_of(source, {"T": "f32", "C": "f32"}, "numpy")
    dims = {"B": 1, "H": 2, "M": 300, "N": 700, "D": 8, "E": 4, "R": 16, "P": 2}
    made = 2 * (700 * (8 + 4) * 16) * 2
    attended = 2 * (300 * 700 * (8 + 2 + 4)) * 2
    assert computed(source, artifact, dims, made + attended) == made + attended
    assert computed(source, artifact, dims | {"M": 1}, 0) == 2 * ((8 + 4) * 16 + 700 * (16 + 2 + 16)) * 2
