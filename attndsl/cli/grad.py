"""`attndsl grad`: the gradient of a spec, as a spec."""

from __future__ import annotations

import click

from attndsl.cli.options import spec_argument
from attndsl.syntax.source import Source


@click.command("grad")
@spec_argument
@click.option("--of", metavar="INPUTS", default="", help="The inputs whose gradients are wanted: q,k,v. Else all.")
@click.option("--forward", is_flag=True, help="Print the spec with what its gradient takes of it.")
def command(source: Source, of: str, forward: bool) -> None:
    """Print the gradient of a spec, as a spec.

    It takes the inputs of the spec, what the forward saves, such as each row's log-sum-exp, and the cotangents of its
    outputs, and writes the gradient of each float input. All commands take it as any other spec.

    \b
    attndsl grad gqa                        the backward of gqa
    attndsl grad gqa --of q,k               what only queries and keys need
    attndsl grad gqa --forward              gqa with its log-sum-exp as an output
    attndsl grad alibi > alibi_back.attn    a file to check, run, explain and compile
    """
    from attndsl.checking.check import check
    from attndsl.gradient import NoGradient, gradient

    wanted = tuple(name.strip() for name in of.split(",") if name.strip())
    try:
        found = gradient(check(source), wanted)
    except NoGradient as error:
        raise click.ClickException(str(error)) from None
    click.echo(found.forward if forward else found.backward, nl=False)
