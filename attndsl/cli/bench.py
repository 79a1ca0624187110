"""`attndsl bench`: how fast the compiled operators are on a GPU, beside what a user would otherwise take."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attndsl.cli.gpu import gpu
from attndsl.cli.options import Duration, out_option
from attndsl.cli.output import live_line

if TYPE_CHECKING:
    import torch

SUITES = ("prefill", "flash-decoding", "paged", "mla-decode", "gallery")
"""Each is a module of `attndsl.bench`, with an underscore for the hyphen."""


@click.command("bench")
@click.argument("suite", type=click.Choice(SUITES), metavar="SUITE")
@click.option("--quick", "effort", flag_value="QUICK", help="A few rows.")
@click.option("--full", "effort", flag_value="FULL", help="Every row, and FlexAttention in each; a long time.")
@click.option(
    "--budget",
    type=Duration(),
    default="10m",
    show_default=True,
    metavar="TIME",
    help="No row is begun after so long.",
)
@out_option("bench-results", "Where the CSV file and the drawing go.")
def command(suite: str, effort: str | None, budget: float, out: Path) -> None:
    """Time a suite on a GPU, in turns with the peers that are installed, once all outputs are right.

    \b
    attndsl bench prefill          naive, staged, SDPA by backend, FlexAttention; masks and scores
    attndsl bench flash-decoding   one token over a dense cache, in f16, bf16 and f32
    attndsl bench paged            one token over a paged cache, beside a dense one
    attndsl bench mla-decode       latent attention over a paged cache
    attndsl bench gallery          every spec at one shape, beside plain torch

    Every row is in the CSV file from the moment it is known. Exits with 1 where an output of ours is wrong.
    """
    device = gpu("bench", "torch", "triton", "matplotlib")
    from attndsl.bench import limits
    from attndsl.bench.machine import ROOT, circumstances
    from attndsl.bench.suite import Effort, run
    from attndsl.bench.timing import GpuClock

    if not (ROOT / "examples").is_dir():
        raise click.UsageError("attndsl bench runs the specs of the gallery: run it from a checkout of the project.")
    found = import_module(f"attndsl.bench.{suite.replace('-', '_')}").SUITE
    with live_line() as progress:
        reached = limits.measure(device, GpuClock(sample=0.1), bytes_=2 * 2**30, side=8192)
        head = {**circumstances("attndsl", "torch", "triton", "numpy"), **described(device), **reached.head()}
        works = list(found.works(Effort[effort or "DEFAULT"]))
        results = run(found, works, device, GpuClock(), reached, budget, out / f"{suite}.csv", head, progress)
    results.report(out, suite, head)
    if results.failures:
        raise click.exceptions.Exit(1)


def described(device: torch.device) -> dict[str, str]:
    """The GPU, its driver and toolkit, for the head of a file of results."""
    import subprocess

    import torch

    try:
        query = ("nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader")
        driver = subprocess.check_output(query, text=True).splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    toolkit = torch.version.cuda or torch.version.hip or "unknown"
    cudnn = torch.backends.cudnn.version()
    return {"device": torch.cuda.get_device_name(device), "driver": driver, "cuda": toolkit, "cudnn": str(cudnn)}
