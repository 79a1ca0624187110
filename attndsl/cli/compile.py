"""`attndsl compile`: the program that a spec becomes."""

from __future__ import annotations

import os
from pathlib import Path

import click

from attndsl.cli.options import bind_types, json_option, spec_argument, types_option
from attndsl.cli.output import show_json
from attndsl.driver.files import write_atomically
from attndsl.driver.library import artifact_of, signature_of
from attndsl.syntax.source import Source


@click.command("compile")
@spec_argument
@click.option(
    "--target", type=click.Choice(["numpy", "triton"]), default="numpy", show_default=True, help="What it runs on."
)
@types_option
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write NAME.py there, where NAME is the spec's name; without it, the program is printed.",
)
@json_option
def command(source: Source, target: str, types: dict[str, str], folder: Path | None, as_json: bool) -> None:
    """Compile a spec to a readable program that needs nothing of attndsl.

    \b
    attndsl compile gqa.attn                        print it
    attndsl compile gqa.attn -o build               write build/gqa.py
    attndsl compile gqa.attn --target triton --types T=f16
    """
    artifact = artifact_of(source, bind_types(signature_of(source), types), target)
    path = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{artifact.name}.py"
        write_atomically(path, artifact.source.encode(), mode=0o666 & ~_umask())
    if as_json:
        about = {"name": artifact.name, "target": target, "types": dict(artifact.types)}
        show_json({**about, "file": path and str(path), "source": artifact.source, "schedule": dict(artifact.schedule)})
    else:
        click.echo(str(path) if path else artifact.source, nl=path is not None)


def _umask() -> int:
    mask = os.umask(0o022)  # it can be read only by setting it
    os.umask(mask)
    return mask
