"""`python -m benchmarks NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from attndsl.bench.machine import blas, circumstances
from attndsl.bench.results import Results

RESULTS = Path(__file__).parent / "results"


class Benchmarks(click.Group):
    """A command for each benchmark; only the one that runs is imported."""

    names = ("memory", "startup", "encoder", "launch")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.names:
            return None
        module = import_module(f"benchmarks.{cmd_name}")

        @click.command(cmd_name, help=module.__doc__)
        @click.option("--smallest", is_flag=True, help="One tiny configuration, to see that it runs.")
        @click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            default=RESULTS,
            help="Where the results are kept; benchmarks/results unless said.",
        )
        def command(smallest: bool, out: Path) -> None:
            head = {**circumstances("python -m benchmarks", "numpy", "torch", "xdsl", "lark"), "blas": blas()}
            report(module.run(smallest=smallest), cmd_name, out, head)

        return command


def report(results: Results, name: str, out: Path, head: Mapping[str, str]) -> None:
    """Shows and keeps results; exits with 1 where a limit was missed."""
    console = Console()
    console.print(results.table())
    for remark in results.remarks:
        console.print(remark, style="dim")
    for path in results.save(out, name, head):
        console.print(f"kept in {path}")
    for failure in results.failures:
        console.print(failure, style="red")
    if results.failures:
        raise SystemExit(1)


@click.group(cls=Benchmarks)
def main(**_: Any) -> None:
    """Measures what attndsl costs."""


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
