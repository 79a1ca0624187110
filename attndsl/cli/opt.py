"""`attndsl opt`: the IR, and passes run by hand."""

from __future__ import annotations

import click

from attndsl.cli.output import show


@click.command("opt")
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--passes", metavar="a,b{x=1}", help="The passes to run, in order, with their options in braces.")
@click.option("--print-ir-after-all", "print_after_all", is_flag=True, help="Print the IR after every pass.")
@click.option("--time-passes", is_flag=True, help="Print how long each pass took.")
@click.option("--print-pipeline", is_flag=True, help="Print the pipeline of each target, and stop.")
def command(
    path: str | None, passes: str | None, print_after_all: bool, time_passes: bool, print_pipeline: bool
) -> None:
    """Run passes on a spec or on IR text, and print the IR.

    \b
    attndsl opt gqa.attn                                  the IR as it is built
    attndsl opt gqa.attn --passes canonicalize,cse        after two passes
    attndsl opt stage.mlir --passes tile{rows=64}         from IR text
    attndsl opt gqa.attn --print-ir-after-all --passes …  after each
    attndsl opt --print-pipeline                          what `attndsl compile` runs
    """
    if print_pipeline:
        from attndsl.driver.pipelines import PIPELINES, spelling

        for target, steps in PIPELINES.items():
            click.echo(f"{target}: {spelling(steps)}")
        return
    if path is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from attndsl.driver.errors import PipelineError
    from attndsl.driver.opt import run_passes
    from attndsl.ir.xdsl import ParseError

    try:
        show(run_passes(path, passes, print_after_all=print_after_all, time_passes=time_passes))
    except PipelineError as error:
        raise click.UsageError(str(error)) from None
    except (ParseError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} holds no IR: {error}") from None
