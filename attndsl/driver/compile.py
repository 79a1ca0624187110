"""Typed spec to artifact: build, run the target's pipeline, emit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attndsl.checking.layouts import LAYOUT, following
from attndsl.checking.typed import Spec
from attndsl.driver.artifact import Artifact
from attndsl.driver.describe import describe
from attndsl.driver.errors import CompilerError
from attndsl.driver.passes import passes_of, report_illegal, run_pipeline
from attndsl.driver.pipelines import Pipeline
from attndsl.driver.summarise import feature_dims, summarise
from attndsl.driver.targets import Target, target_of
from attndsl.ir.build import build
from attndsl.ir.context import print_module
from attndsl.ir.legal import IllegalModule
from attndsl.ir.spec import TensorOp
from attndsl.ir.verified import verify
from attndsl.ir.xdsl import ModuleOp

ROLES_PASS = "assign-roles"
"""The pass that gives roles to warps."""


def compile_spec(
    spec: Spec,
    types: Mapping[str, str],
    target: str,
    sizes: Mapping[str, int] = {},
    machine: str | None = None,
    boxes: bool = True,
) -> Artifact:
    """The artifact of a spec for one target; `types` gives every type variable an element type.

    Where the target is specialised, code is made for the extents that `sizes` gives to feature dims; dims that it
    leaves out stay open. Code suits `machine`, or the target's default one; `boxes` are those of
    `attndsl.driver.pipelines.Options`. Raises UnknownTarget, CompilerError.
    """
    row = target_of(target)
    module, stages = lower(spec, types, target, sizes, machine, boxes)
    steps = _pipeline(row, spec, sizes, machine, boxes).tile
    try:
        source = row.emitter()(module, spec.source.text)
    except IllegalModule as error:
        ran = passes_of(steps)
        raise CompilerError(report_illegal(row.name, error, ran, stages["attn"])) from error
    return Artifact(
        name=spec.name,
        target=target,
        types=dict(types),
        signature=summarise(spec),
        source=source,
        ir=stages,
        schedule={**_sizes(row), **_pinned(spec), **describe(module, any(step.name == ROLES_PASS for step in steps))},
        machine=row.machine(machine),
        cleared=_cleared(module),
        clearing=sum(op.ends is not None for op in module.body.block.ops if isinstance(op, TensorOp)),
    )


def lower(
    spec: Spec,
    types: Mapping[str, str],
    target: str,
    sizes: Mapping[str, int] = {},
    machine: str | None = None,
    boxes: bool = True,
) -> tuple[ModuleOp, dict[str, str]]:
    """The module that a target's emitter takes, and the text of the IR at the end of each level.

    Raises UnknownTarget, CompilerError.
    """
    pipeline = _pipeline(target_of(target), spec, sizes, machine, boxes)
    module = build(spec, types)
    verify(module)
    stages: dict[str, str] = {}
    text = partial(_built, spec, types)
    for level, steps in pipeline._asdict().items():
        run_pipeline(module, passes_of(steps), text=text)
        stages[level] = print_module(module)
        text = partial(stages.__getitem__, level)
    return module, stages


def _built(spec: Spec, types: Mapping[str, str]) -> str:
    """The text of the IR before all passes, which only a failure asks for."""
    return print_module(build(spec, types))


def _pipeline(row: Target, spec: Spec, sizes: Mapping[str, int], machine: str | None, boxes: bool) -> Pipeline:
    features = feature_dims(spec) if row.specialised else ()
    known = {dim: size for dim, size in sizes.items() if dim in features}
    return row.lowering(known=known, machine=machine, boxes=boxes)


def _cleared(module: ModuleOp) -> tuple[str, ...]:
    """The outputs and workspaces that are 0 when the launches of a call begin."""
    tensors = (op for op in module.body.block.ops if isinstance(op, TensorOp))
    return tuple(op.sym_name.data for op in tensors if op.is_zeroed)


def _sizes(row: Target) -> dict[str, int | str]:
    """The sizes of tiles, but for those that a launch chooses."""
    return {name: size for name, size in zip(("tile_rows", "tile_keys"), row.tiles, strict=True) if size}


def _pinned(spec: Spec) -> dict[str, int | str]:
    pinned = {name: value for name, value in spec.schedule.items() if name != LAYOUT and value != "auto"}
    if lying := following(spec.tensors, spec.schedule):
        pinned[LAYOUT] = f"{', '.join(lying)} in memory as {spec.schedule[LAYOUT]}"
    return pinned
