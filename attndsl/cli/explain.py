"""`attndsl explain`: the schedule of a spec, what a shape costs, and the least time that it could take."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from attndsl.cli.options import (
    bind_dims,
    bind_types,
    check_left_out,
    json_option,
    shape_option,
    spec_argument,
    types_option,
    without_option,
)
from attndsl.cli.output import show, show_json
from attndsl.driver.library import artifact_of, signature_of
from attndsl.driver.targets import places
from attndsl.op.explain import compiled_for, computed, explain, limit_of, traffic
from attndsl.syntax.source import Source


@click.command("explain")
@spec_argument
@click.option(
    "--target",
    type=click.Choice(tuple(places())),
    metavar="TARGET",
    default="numpy",
    show_default=True,
    help="numpy, cpu:slices, cpu:numba, triton, cuda:90, hip:gfx942.",
)
@shape_option
@types_option
@without_option
@json_option
def command(
    source: Source,
    target: str,
    shape: dict[str, int],
    types: dict[str, str],
    left_out: tuple[str, ...],
    as_json: bool,
) -> None:
    """Tell the schedule that was chosen, and the bytes and operations of a call.

    For a GPU, also the least time that they take there; triton is cuda:90.

    \b
    attndsl explain gqa.attn --shape B=1,Hq=32,Hkv=8,M=1,N=4096,D=128,E=128 --types T=bf16
    attndsl explain gqa.attn --target cuda:90 --shape B=8,M=1,N=4096,D=128,E=128 --types T=bf16
    """
    left_out = check_left_out(source, left_out)
    signature = signature_of(source, left_out)
    dims = bind_dims(source, signature, shape)
    types = bind_types(signature, types)
    artifact = artifact_of(source, types, *compiled_for(target, signature, dims), left_out=left_out)
    try:
        needed = traffic(signature, artifact.types, dims)
    except ValueError as error:
        raise click.UsageError(f"{error}: give smaller extents with --shape.") from None
    if as_json:
        costs = replace(needed, work=computed(source, artifact, dims, needed.work))
        limit = limit_of(artifact, costs)
        chosen = {"types": dict(artifact.types), "dims": dims, "schedule": dict(artifact.schedule)}
        show_json({**chosen, **asdict(costs), "needed": needed.work, "limit": limit and limit.seconds})
    else:
        show(explain(source, artifact, dims))
