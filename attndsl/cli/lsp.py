"""`attndsl lsp`: the language server that editors start."""

from __future__ import annotations

import click

from attndsl.packages import pip_install


@click.command("lsp")
def command() -> None:
    """Serve editors: mistakes as one types, what a name is and where it is defined, renaming, layout, completion.

    An editor starts it and speaks the Language Server Protocol over its standard input and output; docs/editors.md
    says how it is told to.

    \b
    attndsl lsp
    """
    try:
        import pygls  # noqa: F401
    except ModuleNotFoundError:
        raise click.UsageError(f"attndsl lsp needs pygls: {pip_install('pygls')}") from None
    from attndsl.editor.server import serve

    serve()
