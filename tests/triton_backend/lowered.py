"""Specs, lowered for Triton with tiles small enough to be quick and to need several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.targets import TARGETS
from attndsl.ir.build import build
from attndsl.ir.context import context
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with
from attndsl.testing.stages import with_all_boxes

EXAMPLES = Path(__file__).parents[2] / "examples"
GALLERY = sorted(path.stem for path in EXAMPLES.glob("*.attn"))


@cache
def spec_of(name: str) -> Spec:
    """The typed spec of a gallery file, or of one beside this file."""
    path = EXAMPLES / f"{name}.attn"
    if not path.exists():
        path = Path(__file__).with_name(f"{name}.attn")
    return check(Source(path.read_text(), path.name))


@cache
def gallery_module(name: str, element: str) -> ModuleOp:
    """What the emitter takes for a spec of the gallery, each type variable standing for one element type."""
    spec = spec_of(name)
    return lowered(spec, types_with(spec, element))


def lowered(spec: Spec, types: Mapping[str, str], rows: int = 16, keys: int = 16) -> ModuleOp:
    """The module that the emitter takes."""
    module = build(spec, types)
    run_pipeline(module, passes_of(TARGETS["triton"].lowering((rows, keys)).steps))
    return module


@dataclass(frozen=True)
class StripHints(ModulePass):
    """Takes the name hints off all SSA values: an analysis or an emitter that rests on one sees none."""

    name = "strip-hints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            arguments = [argument for region in each.regions for block in region.blocks for argument in block.args]
            for value in (*each.results, *arguments):
                value.name_hint = None


def lowered_without_hints(
    spec: Spec, types: Mapping[str, str], rows: int, keys: int, target: str = "triton"
) -> ModuleOp:
    """The module that a target's emitter takes where neither it nor any pass before it has a name hint to look at."""
    module = build(spec, types)
    passes = passes_of(TARGETS[target].lowering((rows, keys)).steps)
    run_pipeline(module, [each for one in passes for each in (StripHints(), one)])
    StripHints().apply(context(), module)
    return module


def lowered_with_boxes(spec: Spec, types: Mapping[str, str], rows: int, keys: int) -> ModuleOp:
    """The module that the emitter takes where all is copied as a box that can be."""
    module = build(spec, types)
    run_pipeline(module, passes_of(with_all_boxes(TARGETS["triton"].lowering((rows, keys)).steps)))
    return module
