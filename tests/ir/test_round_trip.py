"""IR is its text: what is printed at any stage reads back as the same module."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.typed import Spec
from attndsl.driver.library import checked
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.summarise import summarise
from attndsl.driver.targets import TARGETS
from attndsl.ir.build import build
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.interpret import interpret
from attndsl.ir.rewrite import constant, constant_op
from attndsl.ir.xdsl import FileLineColLoc, ModuleOp, f32, f64
from attndsl.syntax.read import read_source
from attndsl.testing import Case

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def spec_of(path: Path) -> Spec:
    return checked(read_source(str(path)))


def check_round_trip(module: ModuleOp) -> None:
    text = print_module(module, locations=True)
    again = parse_module(text)
    again.verify()
    assert print_module(again, locations=True) == text


def verified_each(name: str, module: ModuleOp, changed: bool) -> None:
    """Looks at no stage: that somebody might has each verified, not the last alone."""


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_both_levels_read_back_and_say_where_they_come_from(path: Path) -> None:
    spec = spec_of(path)
    module = build(spec, summarise(spec).default_types())
    check_round_trip(module)
    check_places(module)
    run_pipeline(module, passes_of(TARGETS["triton"].lowering().steps), verified_each)
    check_places(module)
    if GALLERY.index(path) % 2:  # to read a lowered module takes a second
        check_round_trip(module)


def check_places(module: ModuleOp) -> None:
    """Every operation of a kernel has its line and column of the spec."""
    kernels = [op for op in module.body.block.ops if op.regions]
    for op in (op for kernel in kernels for op in kernel.walk() if op is not kernel):
        assert isinstance(op.location, FileLineColLoc), f"{op.name} has lost its place"


@pytest.mark.parametrize("name", ["gqa", "mla_paged", "sinks"])
def test_every_stage_reads_back(name: str) -> None:
    spec = spec_of(next(path for path in GALLERY if path.stem == name))
    module = build(spec, summarise(spec).default_types())

    def after(_: str, stage: ModuleOp, changed: bool) -> None:
        if changed:
            check_round_trip(stage)

    run_pipeline(module, passes_of(TARGETS["triton"].lowering().steps), after)


@pytest.mark.parametrize("name", ["gqa", "int4_cache", "lse", "neighbourhood_2d", "packed_ragged", "sinks"])
def test_what_is_read_back_means_the_same(name: str) -> None:
    spec = spec_of(next(path for path in GALLERY if path.stem == name))
    case = Case.make(spec)
    module = build(spec, case.types)
    pipeline = passes_of(TARGETS["numpy"].lowering().steps)
    for passes in ((), pipeline):
        run_pipeline(module, passes, verified_each)
        again = parse_module(print_module(module))
        assert print_module(again) == print_module(module)
        wanted = interpret(module, case.arrays, case.dims, case.params)
        for output, array in interpret(again, case.arrays, case.dims, case.params).items():
            np.testing.assert_array_equal(array, wanted[output])


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, 0.1, math.pi, 1e-45, 3.4028234663852886e38])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_constants_keep_every_bit(value: float, type_: str) -> None:
    type_attribute = {"f32": f32, "f64": f64}[type_]
    module = ModuleOp([constant_op(value, type_attribute)])
    text = print_module(module)
    again = parse_module(text)
    (op,) = again.body.block.ops
    found = constant(op.results[0])
    assert isinstance(found, float)
    kept = np.float32(value) if type_ == "f32" else np.float64(value)
    assert type(kept)(found).tobytes() == kept.tobytes()
    assert print_module(again) == text
