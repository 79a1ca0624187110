"""`python -m benchmarks NAME`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from attndsl.bench.machine import blas, circumstances

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
            results = module.run(smallest=smallest)
            results.report(out, cmd_name, head)
            if results.failures:
                raise SystemExit(1)

        return command


@click.group(cls=Benchmarks)
def main(**_: Any) -> None:
    """Measures what attndsl costs."""


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
