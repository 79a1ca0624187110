"""Typed spec to artifact: build, run the target's pipeline, emit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from attndsl.checking.typed import Spec
from attndsl.driver.artifact import Artifact
from attndsl.driver.describe import describe
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import PIPELINES, spelling
from attndsl.driver.summarise import feature_dims, summarise
from attndsl.ir.build import build
from attndsl.ir.context import print_module
from attndsl.ir.machines import USUAL
from attndsl.ir.xdsl import ModuleOp, ModulePass
from attndsl.passes.assign_schedules import AssignSchedules
from attndsl.passes.narrow_products import NarrowProducts
from attndsl.passes.specialise import Specialise

SUITED = (AssignSchedules, NarrowProducts)
"""The passes that suit code to a machine."""

Emit = Callable[[ModuleOp, str], str]


def compile_spec(
    spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int] = {}, machine: str = USUAL
) -> Artifact:
    """The artifact of a spec for one target; `types` gives every type variable an element type.

    For `triton`, code is made for the extents that `sizes` gives to feature dims, and suits `machine`, a name of
    attndsl.ir.machines; dims that it leaves out stay open.
    """
    module, stages = lower(spec, types, target, sizes, machine)
    tile_pass = next(p for p in parse_pipeline(spelling(PIPELINES[target])) if p.name == "tile")
    return Artifact(
        name=spec.name,
        target=target,
        types=dict(types),
        signature=summarise(spec),
        source=emitter(target)(module, spec.source.text),
        ir=stages,
        schedule={**_options(tile_pass), **_pinned(spec), **describe(module)},
        machine=machine if target == "triton" else None,
    )


def lower(
    spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int] = {}, machine: str = USUAL
) -> tuple[ModuleOp, dict[str, str]]:
    """The module that a target's emitter takes, and the text of the IR at the end of each level."""
    module = build(spec, types)
    module.verify()
    stages: dict[str, str] = {}
    passes = parse_pipeline(spelling(PIPELINES[target]))
    if target == "triton":
        known = {dim: size for dim, size in sizes.items() if dim in feature_dims(spec)}
        passes = (Specialise(tuple(known), tuple(known.values())), *passes)
        passes = tuple(replace(p, machine=machine) if isinstance(p, SUITED) else p for p in passes)
    last = next(n for n, p in enumerate(passes) if p.name == "tile")
    run_pipeline(module, passes[:last])
    stages["attn"] = print_module(module)
    run_pipeline(module, passes[last:])
    stages["tile"] = print_module(module)
    return module, stages


def emitter(target: str) -> Emit:
    """The function that turns a module into a target's source text."""
    if target == "triton":
        from attndsl.backends.triton.emit import emit as emit_triton

        return emit_triton
    from attndsl.backends.numpy.emit import emit as emit_numpy

    return emit_numpy


def _options(tile_pass: ModulePass) -> dict[str, int | str]:
    """The sizes of tiles, but for those that a launch chooses."""
    return {f"tile_{name}": size for name in ("rows", "keys") if (size := getattr(tile_pass, name))}


def _pinned(spec: Spec) -> dict[str, int | str]:
    return {name: value for name, value in spec.schedule.items() if value != "auto"}
