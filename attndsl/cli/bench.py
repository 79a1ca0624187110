"""`attndsl bench`: what calls of the compiled operators cost, beside what a user would otherwise take."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click

from attndsl.cli.gpu import gpu, need_torch
from attndsl.cli.options import Duration, out_option
from attndsl.cli.output import live_line

ON_GPU = ("prefill", "packed", "backward", "flash-decoding", "paged", "mla-decode", "gallery", "launch")
ON_CPU = ("cpu-prefill", "cpu-backward", "cpu-decode", "mla-cpu", "encoder", "cpu-call", "memory", "startup")
"""Each is a module of `attndsl.bench`, with an underscore for the hyphen."""

PACKAGES = ("torch", "matplotlib")


@click.command("bench")
@click.argument("suite", type=click.Choice((*ON_GPU, *ON_CPU)), metavar="SUITE")
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
@click.option(
    "--threads", type=click.IntRange(min=1), help="Threads of all contestants on a CPU; one for each core unless said."
)
@out_option("bench-results", "Where the CSV file and the drawing go.")
def command(suite: str, effort: str | None, budget: float, threads: int | None, out: Path) -> None:
    """Time a suite in turns with the peers that are installed, once all outputs are right.

    \b
    On a GPU:
    attndsl bench prefill          naive, staged, SDPA by backend, FlexAttention; masks and scores
    attndsl bench packed           prefill of requests packed end to end, over pages and not
    attndsl bench backward         gradients alone, beside SDPA and FlexAttention; a step of training
    attndsl bench flash-decoding   one token over a dense cache, in f16, bf16 and f32
    attndsl bench paged            one token over a paged cache, beside a dense one
    attndsl bench mla-decode       latent attention over a paged cache
    attndsl bench gallery          every spec at one shape, beside plain torch
    attndsl bench launch           Python's time for a launch, and the wait for a first output

    \b
    On a CPU:
    attndsl bench cpu-prefill      full and causal beside SDPA; masks and scores beside FlexAttention
    attndsl bench cpu-backward     gradients alone, beside SDPA and plain torch
    attndsl bench cpu-decode       one token over shared heads, pages, integers, latents, beside torch's best
    attndsl bench mla-cpu          latent attention absorbed, expanded and chosen, caches in f32, f16 and q8_0
    attndsl bench encoder          batches of short sentences, beside SDPA
    attndsl bench cpu-call         what a call costs beside its arithmetic
    attndsl bench memory           what a call holds as its sequence grows
    attndsl bench startup          the wait before anything is computed

    Every row is in the CSV file from the moment it is known. Exits with 1 where an output of ours is wrong, or a limit
    is missed.
    """
    if suite in ON_GPU and threads is not None:
        raise click.UsageError(f"--threads is for suites on a CPU, and {suite} runs on a GPU.")
    if suite in ON_CPU:
        threads = hold_threads(threads)
        need_torch("bench", *PACKAGES)
    else:
        device = gpu("bench", *PACKAGES, "triton")
    from attndsl.bench.machine import ROOT
    from attndsl.bench.rig import on_cpu, on_gpu
    from attndsl.bench.suite import Effort, run

    if not (ROOT / "examples").is_dir():
        raise click.UsageError("attndsl bench runs the specs of the gallery: run it from a checkout of the project.")
    table = import_module(f"attndsl.bench.{suite.replace('-', '_')}").SUITE
    with live_line() as progress:
        rig = on_gpu(device) if threads is None else on_cpu(threads)
        jobs = table.jobs(Effort[effort or "DEFAULT"])
        results = run(table, jobs, rig, budget, out / f"{suite}.csv", progress)
    results.report(out, suite, rig.head)
    if results.failures:
        raise click.exceptions.Exit(1)


def hold_threads(threads: int | None) -> int:
    """Has libraries that are loaded from now on use so many threads, which wait without spinning; gives their number.

    A thread that spins takes the core from who comes next, and its time counts as work.
    """
    threads = threads or len(os.sched_getaffinity(0))
    os.environ.update(OMP_WAIT_POLICY="passive", OMP_NUM_THREADS=str(threads), ATTNDSL_NUM_THREADS=str(threads))
    return threads
