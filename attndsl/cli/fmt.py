"""`attndsl fmt`: the canonical layout of specs."""

from __future__ import annotations

from pathlib import Path

import click

from attndsl.cli.options import read_spec, specs_argument
from attndsl.cli.output import show, show_errors
from attndsl.diagnostics.base import SpecError
from attndsl.files import write_atomically


@click.command("fmt")
@specs_argument
@click.option("--check", is_flag=True, help="Change nothing; name the files that would change, and exit with 1.")
def command(paths: tuple[str, ...], check: bool) -> None:
    """Format specs in place; `-` formats the standard input to the standard output.

    \b
    attndsl fmt examples/*.attn
    attndsl fmt --check examples/*.attn
    attndsl fmt - < gqa.attn

    A spec that cannot be read is left as it is; the exit code is then 1.
    """
    from attndsl.syntax.format import format_text

    failed = False
    for path in paths:
        try:
            source = read_spec(path)
            text = format_text(source)
        except SpecError as error:
            show_errors(error)
            failed = True
            continue
        if check:
            if text != source.text:
                show(path)
                failed = True
        elif path == "-":
            click.echo(text, nl=False)
        elif text != source.text:
            file = Path(path).resolve()  # a link stays a link
            write_atomically(file, text.encode(), file.stat().st_mode & 0o777)
            show(f"formatted {path}")
    if failed:
        raise click.exceptions.Exit(1)
