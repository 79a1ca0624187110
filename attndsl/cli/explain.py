"""`attndsl explain`: the schedule of a spec, and what a shape costs."""

from __future__ import annotations

from dataclasses import asdict

import click

from attndsl.cli.options import bind_dims, bind_types, json_option, shape_option, spec_argument, types_option
from attndsl.cli.output import show_json
from attndsl.driver.library import artifact_of, signature_of
from attndsl.syntax.source import Source


@click.command("explain")
@spec_argument
@click.option("--target", type=click.Choice(["numpy", "triton"]), default="numpy", show_default=True)
@shape_option
@types_option
@json_option
def command(source: Source, target: str, shape: dict[str, int], types: dict[str, str], as_json: bool) -> None:
    """Tell the schedule that was chosen, and the bytes and operations of a call.

    \b
    attndsl explain gqa.attn --shape B=1,Hq=32,Hkv=8,M=1,N=4096,D=128,E=128 --types T=bf16
    attndsl explain gqa.attn --target triton --shape D=128,E=128 --types T=bf16
    """
    from attndsl.op.explain import explain, traffic

    signature = signature_of(source)
    dims = bind_dims(source, signature, shape)
    sizes = {dim: dims[dim] for dim in signature.features} if target == "triton" else {}
    artifact = artifact_of(source, bind_types(signature, types), target, sizes)
    if as_json:
        costs = asdict(traffic(signature, artifact.types, dims))
        show_json({"types": dict(artifact.types), "dims": dims, "schedule": dict(artifact.schedule), **costs})
    else:
        click.echo(explain(artifact, dims))
