"""`attndsl tune`: a faster schedule for calls of one size, on this machine's GPU."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from attndsl.checking.evaluate import with_defaults
from attndsl.choices import KEYS, ROLES, ROWS, WIDE_ROWS
from attndsl.cli.gpu import gpu
from attndsl.cli.memory import require_memory
from attndsl.cli.options import (
    Duration,
    bind_dims,
    bind_params,
    bind_types,
    params_option,
    shape_option,
    spec_argument,
    types_option,
)
from attndsl.cli.output import live_line
from attndsl.driver.library import checked, signature_of
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.tune import Trial, Tuning

WORDS = {ROWS: "rows", KEYS: "keys", "num_warps": "warps", "num_stages": "stages", ROLES: "roles", WIDE_ROWS: "wide"}
"""What the table calls the choices of a schedule."""


@click.command("tune")
@spec_argument
@shape_option
@types_option
@params_option
@click.option(
    "--budget",
    type=Duration(),
    default="1m",
    show_default=True,
    metavar="TIME",
    help="No schedule is tried after so long.",
)
def command(
    source: Source, shape: dict[str, int], types: dict[str, str], params: tuple[dict[str, str], ...], budget: float
) -> None:
    """Try schedules for calls of one size on this machine's GPU, and keep one that is faster than the compiler's.

    \b
    attndsl tune gqa.attn --shape B=1,Hq=16,Hkv=1,M=1,N=65536,D=128,E=128 --types T=bf16

    Every process of this user uses what is kept from then on, on such a GPU, for calls with these types and feature
    dims whose other dims lie between the same powers of two. Interrupted, it keeps the best of what it has tried.
    """
    signature = signature_of(source)
    bound_types, values = bind_types(signature, types), bind_params(signature, params)
    dims = bind_dims(source, signature, shape, values)
    if missing := [dim for dim in dims if dim not in shape]:
        options = ",".join(f"{dim}=…" for dim in missing)
        raise click.UsageError(f"A schedule is for calls of one size: --shape {options} is missing.")
    require_memory(signature, dims, with_defaults(checked(source).params, dims, values))
    device = gpu("tune", "torch", "triton")
    from attndsl.bench.inputs import random_tensors
    from attndsl.bench.timing import GpuClock
    from attndsl.op.gpu import described
    from attndsl.op.op import Op
    from attndsl.tune import Tuning

    trials: list[Trial] = []
    interrupted = False
    with live_line() as progress:
        task = progress.add_task(f"compiling {signature.name}", total=None)
        inputs = random_tensors(checked(source), dims, bound_types, values, device)
        tuning = Tuning(Op(source), inputs, values, GpuClock())
        schedules = tuning.schedules()
        progress.update(task, total=len(schedules))
        try:
            for trial in tuning.trials(schedules, budget):
                trials.append(trial)
                least = min(1.0, *(trial.ratio for trial in trials))
                progress.update(task, advance=1, description=f"{_schedule(trial.schedule)}; best {least:.2f}")
        except KeyboardInterrupt:
            interrupted = True
        progress.update(task, description="once more")
        best = tuning.best(trials)
    if trials:
        tuning.keep(best)
    equations = ", ".join(f"{name} = {value}" for name, value in {**bound_types, **dims, **values}.items())
    _show(f"{signature.name} on {described(device)}: {equations}", tuning, trials, len(schedules), best)
    if interrupted:
        raise click.exceptions.Exit(130)


def _show(title: str, tuning: Tuning, trials: Sequence[Trial], possible: int, best: Trial | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    console.print(title)
    table = Table()
    tried = [tuning.tables, *(trial.schedule for trial in trials)]
    told = {name for name in (ROLES, WIDE_ROWS) if not any(name in each for each in tried)}
    words = {name: word for name, word in WORDS.items() if name not in told}
    for column in (*words.values(), "splits", "µs", "ratio"):
        table.add_column(column, justify="right")
    table.add_column("")
    if reference := [trial.tables for trial in trials if trial.tables is not None]:
        time = statistics.median(reference)
        table.add_row(*_cells(words, tuning.tables, tuning.splits), f"{time * 1e6:.1f}", "1.00", "the tables' choice")
    for trial in sorted(trials, key=lambda trial: trial.ratio):
        timed = ("", "") if trial.seconds is None else (f"{trial.seconds * 1e6:.1f}", f"{trial.ratio:.2f}")
        table.add_row(*_cells(words, trial.schedule, trial.splits), *timed, trial.note)
    console.print(table)
    console.print(f"{len(trials)} of {possible} schedules were tried.")
    if best is None:
        console.print("The tables' choice stays: nothing saved enough, twice, to be more than noise.")
    else:
        console.print(f"Kept: {_schedule(best.schedule)}, {best.ratio:.2f} of the time of the tables' choice.")


def _cells(names: Iterable[str], schedule: Mapping[str, int], splits: int) -> list[str]:
    return [*(str(schedule.get(name, "")) for name in names), str(splits)]


def _schedule(schedule: Mapping[str, int]) -> str:
    said = {
        ROLES: "roles" if schedule.get(ROLES) else "no roles",
        WIDE_ROWS: "more rows a tile" if schedule.get(WIDE_ROWS) else "fewer rows a tile",
    }
    return ", ".join(said.get(name, f"{schedule[name]} {word}") for name, word in WORDS.items() if name in schedule)
