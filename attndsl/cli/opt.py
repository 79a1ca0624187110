"""`attndsl opt`: the IR, and passes run by hand."""

from __future__ import annotations

import click

from attndsl.cli.options import misused
from attndsl.cli.output import show


@click.command("opt")
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--passes", metavar="a,b{x=1}", help="The passes to run, in order, with their options in braces.")
@click.option("--print-ir-after-all", "print_after_all", is_flag=True, help="Print the IR after every pass.")
@click.option("--time-passes", is_flag=True, help="Print how long each pass took.")
@click.option("--target", metavar="TARGET", help="Check that its emitter takes the IR; without --passes, run its own.")
@click.option("--print-pipeline", is_flag=True, help="Print the pipeline of each target, and stop.")
def command(
    path: str | None,
    passes: str | None,
    print_after_all: bool,
    time_passes: bool,
    target: str | None,
    print_pipeline: bool,
) -> None:
    """Run passes on a spec or on IR text, and print the IR.

    \b
    attndsl opt gqa.attn                                  the IR as it is built
    attndsl opt gqa.attn --passes canonicalize,cse        after two passes
    attndsl opt stage.mlir --passes tile{rows=64}         from IR text
    attndsl opt gqa.attn --print-ir-after-all --passes …  after each
    attndsl opt gqa.attn --target triton                  the IR that becomes Triton
    attndsl opt --print-pipeline                          what `attndsl compile` runs
    """
    if print_pipeline:
        if target is not None:
            raise click.UsageError("--print-pipeline prints that of each target, and takes no --target.")
        from attndsl.driver.pipelines import spelling
        from attndsl.driver.targets import TARGETS

        for name, row in TARGETS.items():
            click.echo(f"{name}: {spelling(row.lowering().steps)}")
        return
    if path is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from attndsl.driver.errors import PipelineError
    from attndsl.driver.opt import run_passes
    from attndsl.driver.targets import UnknownTarget
    from attndsl.ir.legal import IllegalModule
    from attndsl.ir.xdsl import ParseError

    try:
        show(run_passes(path, passes, print_after_all=print_after_all, time_passes=time_passes, target=target))
    except PipelineError as error:
        raise click.UsageError(str(error)) from None
    except UnknownTarget as error:
        raise misused(error) from None
    except IllegalModule as error:
        raise click.ClickException(f"{error}.") from None
    except (ParseError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} holds no IR: {error}") from None
