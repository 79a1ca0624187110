"""`attndsl fmt`: the canonical layout of specs."""

from __future__ import annotations

from pathlib import Path

import click

from attndsl.cli.options import Spec
from attndsl.cli.output import show_errors
from attndsl.diagnostics.base import SpecError
from attndsl.driver.files import write_atomically
from attndsl.syntax.source import Source


@click.command("fmt")
@click.argument("sources", metavar="FILE...", type=Spec(), nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Change nothing; name the files that would change, and exit with 1.")
def command(sources: tuple[Source, ...], check: bool) -> None:
    """Format specs in place; `-` formats the standard input to the standard output.

    \b
    attndsl fmt examples/*.attn
    attndsl fmt --check examples/*.attn
    attndsl fmt - < gqa.attn

    A spec that cannot be read is left as it is; the exit code is then 1.
    """
    from attndsl.syntax.format import format_text

    failed = False
    for source in sources:
        try:
            text = format_text(source)
        except SpecError as error:
            show_errors(error)
            failed = True
            continue
        if check:
            if text != source.text:
                click.echo(source.name)
                failed = True
        elif source.name == "<stdin>":
            click.echo(text, nl=False)
        elif text != source.text:
            path = Path(source.name).resolve()  # a link stays a link
            write_atomically(path, text.encode(), path.stat().st_mode & 0o777)
            click.echo(f"formatted {source.name}")
    if failed:
        raise click.exceptions.Exit(1)
