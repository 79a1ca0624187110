"""The command `attndsl` and what its commands share: how they are found, and how they fail.

Exit codes: 0 all is well; 1 the spec or a result is wrong; 2 the command is used wrongly; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import StringIO

import click

from attndsl.diagnostics.base import SpecError
from attndsl.driver.errors import CompilerError
from attndsl.driver.hints import did_you_mean
from attndsl.op.errors import CallError

COMMANDS = (
    "list",
    "check",
    "compile",
    "run",
    "grad",
    "import",
    "opt",
    "fmt",
    "explain",
    "draw",
    "bench",
    "tune",
    "fuzz",
    "lsp",
)
"""Each is a module of its own, imported when it is asked for."""

_MODULES = {"import": "importing"}
"""Those whose name no module can have in Python."""


class Commands(click.Group):
    """A group whose commands are imported when they are used, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            hint = did_you_mean(cmd_name, COMMANDS) or "."
            raise click.UsageError(f"There is no command {cmd_name}{hint} There are {', '.join(COMMANDS)}.", ctx)
        command: click.Command = import_module(f"attndsl.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"attndsl {version('attndsl')}")
        ctx.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, callback=_print_version, help="Print the version.")
def attndsl() -> None:
    """Say what an attention variant is, in index notation; get a program that computes it.

    \b
    A first walk, with a spec of the gallery; a file of yours, my.attn, will do as well:
      attndsl list                          what there is
      attndsl check   gqa                   is it right? what does it take and give?
      attndsl run     gqa --shape M=64      make inputs, run it, compare with the reference
      attndsl compile gqa                   the NumPy program that it becomes
      attndsl explain gqa --shape N=4096    the schedule, the bytes, the operations
      attndsl draw    gqa                   the mask with its tiles, the data flow

    In Python: op = attndsl.load("gqa"), then o = op(q, k, v).
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (that of this process by default) and give its exit code. A user's mistake is one message."""
    try:
        code = attndsl.main(args=arguments, prog_name="attndsl", standalone_mode=False)
        if not sys.stdout.closed:  # a language server closes it, when its editor is done
            sys.stdout.flush()
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        said = StringIO()
        error.show(said)
        _complain(said.getvalue().removesuffix("\n"))
        return error.exit_code
    except SpecError as error:
        from attndsl.cli.output import show_errors

        show_errors(error)
        return 1
    except (CallError, CompilerError, OSError) as error:
        _complain(f"Error: {error}")
        return 1
    except MemoryError as error:
        click.echo(f"Error: the memory of this machine does not suffice: {error}", err=True)
        return 1
    return code or 0  # click gives the code of an early exit, or what the command gave: None


def _complain(text: str) -> None:
    from attndsl.cli.output import show

    show(text, err=True)
