"""A suite: rows of a table, measured one by one within a time, each kept as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import torch
from rich.progress import Progress

from attndsl.bench.contest import Contestant, Inputs, Outcome, contest, told
from attndsl.bench.limits import Limits
from attndsl.bench.ours import truth
from attndsl.bench.results import Column, Draw, Results, Row, csv_lines
from attndsl.bench.timing import Clock


class Effort(IntEnum):
    """How many rows a suite has."""

    QUICK = 0
    DEFAULT = 1
    FULL = 2


@dataclass(frozen=True)
class Cost:
    """What a row's call has to do: bytes in and out, floating-point operations; `tiles` of 128 × 128 it visits."""

    moved: int
    flops: float
    tiles: int = 0


@dataclass(frozen=True)
class Work:
    """A row: what is computed, by whom. `labels` are its first cells, and those of lower `rank` are run first."""

    labels: Mapping[str, Any]
    spec: str
    element: str
    inputs: Callable[[torch.device], Inputs]
    contestants: Sequence[Contestant]
    cost: Callable[[Inputs], Cost]
    params: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0


@dataclass(frozen=True)
class Found:
    """What was found for a row, as cells."""

    work: Work
    cost: Cost
    outcomes: Mapping[str, Outcome]
    limits: Limits

    def time(self, name: str, unit: float) -> float | str | None:
        """A contestant's time in this unit of seconds, or the verdict in its place."""
        outcome = self.outcomes.get(name, Outcome())
        return outcome.verdict if outcome.seconds is None else round(outcome.seconds / unit, 4)

    def eager(self, name: str, unit: float) -> float | None:
        """The same between calls made from Python."""
        eager = self.outcomes.get(name, Outcome()).eager
        return None if eager is None else round(eager / unit, 4)

    def ratio(self, *peers: str, ours: str = "ours") -> float | None:
        """The time of the fastest of some peers over ours."""
        times = [self.outcomes[peer].seconds for peer in peers if peer in self.outcomes]
        known, own = [t for t in times if t is not None], self.outcomes[ours].seconds
        return round(min(known) / own, 3) if known and own else None

    def rate(self, amount: float, unit: float, name: str = "ours") -> float | None:
        """So much a second, in this unit."""
        seconds = self.outcomes[name].seconds
        return round(amount / seconds / unit, 2) if seconds else None

    def failed(self, contestant: Contestant) -> bool:
        """Whether one of ours gave no time."""
        return contestant.ours and self.outcomes[contestant.name].seconds is None

    @property
    def share(self) -> float | None:
        """The part of the device's limit that we reach."""
        seconds = self.outcomes["ours"].seconds
        least = self.limits.seconds(self.cost.moved, self.cost.flops, self.work.element)
        return round(least / seconds, 3) if seconds else None

    @property
    def error(self) -> float | None:
        """The relative error of our output."""
        error = self.outcomes["ours"].error
        return None if error is None else float(f"{error:.2e}")

    @property
    def notes(self) -> str:
        """Why cells are empty."""
        return "; ".join(outcome.note for outcome in self.outcomes.values() if outcome.note)


@dataclass(frozen=True)
class Suite:
    """A table: its columns, the rows that it has, and how the cells of one are filled, by column."""

    title: str
    columns: tuple[Column, ...]
    works: Callable[[Effort], Iterable[Work]]
    cells: Callable[[Found], Mapping[str, Any]]
    draw: Draw
    remarks: tuple[str, ...] = ()

    def row(self, found: Found) -> Row:
        """The cells of a row, in the order of the columns."""
        cells = {**found.work.labels, **self.cells(found), "notes": found.notes}
        return tuple(cells.get(column.name) for column in self.columns)


def run(
    suite: Suite,
    works: Sequence[Work],
    device: torch.device,
    clock: Clock,
    limits: Limits,
    seconds: float,
    file: Path,
    head: Mapping[str, str],
    progress: Progress,
) -> Results:
    """Measures the rows for which there are `seconds`; `file` holds every row from the moment it is known."""
    end = time.monotonic() + seconds
    rows: dict[int, Row] = {}
    failures: list[str] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as kept:
        kept.write(Results(suite.title, suite.columns, [], suite.remarks).csv(head))
        task = progress.add_task("", total=len(works))
        for number in sorted(range(len(works)), key=lambda number: works[number].rank):
            kept.flush()
            work = works[number]
            name = ", ".join(f"{label} {value}" for label, value in work.labels.items())
            if time.monotonic() > end:
                break
            progress.update(task, description=name)
            try:
                found = measure(work, device, clock, limits)
            except torch.OutOfMemoryError as reason:
                failures.append(f"{name}: {told(reason)}")
                continue
            except RuntimeError as reason:  # the device may be lost, and every row after this one with it
                failures.append(f"{name}: stopped here: {told(reason)}")
                break
            rows[number] = suite.row(found)
            kept.write(csv_lines([rows[number]]))
            failures += [f"{name}: {found.outcomes[c.name].note}" for c in work.contestants if found.failed(c)]
            progress.advance(task)
    left = len(works) - len(rows)
    remarks = suite.remarks + (
        (f"{left} of {len(works)} rows were not run: {seconds:.0f} s were over.",) if left else ()
    )
    ordered = [rows[number] for number in sorted(rows)]
    return Results(suite.title, suite.columns, ordered, remarks, tuple(failures), suite.draw)


def measure(work: Work, device: torch.device, clock: Clock, limits: Limits) -> Found:
    """One row."""
    if device.type == "cuda":
        torch.cuda.empty_cache()  # the last row's memory, in pieces of its own sizes
    inputs = work.inputs(device)
    wanted = truth(work.spec, inputs, work.params)
    outcomes = contest(work.contestants, inputs, wanted, work.element, clock)
    return Found(work, work.cost(inputs), outcomes, limits)
