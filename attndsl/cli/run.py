"""`attndsl run`: a spec on made-up inputs, beside its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attndsl.cli.options import (
    json_option,
    params_option,
    shape_option,
    spec_argument,
    types_option,
)
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    pass

SECONDS = 1.0
"""How long the timing goes on, at least `RUNS` calls."""

RUNS = 3


@click.command("run")
@spec_argument
@shape_option
@types_option
@params_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The inputs' random seed.")
@json_option
def command(
    source: Source,
    shape: dict[str, int],
    types: dict[str, str],
    params: tuple[dict[str, str], ...],
    seed: int,
    as_json: bool,
) -> None:
    """Make inputs, run the compiled spec, compare with the reference, and report error, time and bytes.

    \b
    attndsl run gqa.attn
    attndsl run gqa.attn --shape B=2,M=100,N=1000 --types T=bf16 --seed 7
    attndsl run sliding-window.attn --param window=7

    Exits with 1 where an output is further from the reference than its rounding explains.
    """
