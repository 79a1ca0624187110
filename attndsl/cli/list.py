"""`attndsl list`: the specs of the gallery."""

from __future__ import annotations

import click

from attndsl.cli.options import json_option
from attndsl.cli.output import show, show_json
from attndsl.syntax.gallery import gallery


@click.command("list")
@json_option
def command(as_json: bool) -> None:
    """List the gallery: specs that `attndsl.load` and all commands find by name.

    \b
    attndsl list
    attndsl list --json       {"specs": [{"name", "about", "file"}]}
    attndsl check gqa         what the one called gqa takes and gives
    """
    specs = gallery()
    if as_json:
        show_json({"specs": [{"name": name, "about": about, "file": str(path)} for name, about, path in specs]})
        return
    width = max(len(spec.name) for spec in specs)
    for name, about, _ in specs:
        show(f"{name:{width}}  {about}")
