"""A suite: rows of a table, measured one by one within a time, each kept as soon as it is known.

The rows of a `Suite` are contests; those of a `Study` are measured in its own way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

import torch
from rich.progress import Progress

from attndsl.bench.contest import Contestant, Inputs, Off, Outcome, Outputs, contest, told
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
    """A row: what is computed, by whom. `labels` are its first cells, and those of lower `rank` are run first.

    `truth` gives what is right where that is something else than what the spec writes, and `off` says how far from it a
    contestant is where that is not told row by row.
    """

    labels: Mapping[str, Any]
    spec: str
    element: str
    inputs: Callable[[torch.device], Inputs]
    contestants: Sequence[Contestant]
    cost: Callable[[Inputs], Cost]
    params: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0
    truth: Callable[[Inputs], Outputs] | None = None
    off: Off | None = None


@dataclass(frozen=True)
class Found:
    """What was found for a row, as cells."""

    work: Work
    cost: Cost
    outcomes: Mapping[str, Outcome]
    limits: Limits | None

    def time(self, name: str, unit: float) -> float | str | None:
        """A contestant's time in this unit of seconds, or the verdict in its place."""
        outcome = self.outcomes.get(name, Outcome())
        return outcome.verdict if outcome.seconds is None else round(outcome.seconds / unit, 4)

    def eager(self, name: str, unit: float) -> float | None:
        """The same between calls made from Python."""
        eager = self.outcomes.get(name, Outcome()).eager
        return None if eager is None else round(eager / unit, 4)

    def busy(self, name: str, unit: float) -> float | None:
        """The time of all processors that it keeps busy."""
        busy = self.outcomes.get(name, Outcome()).busy
        return None if busy is None else round(busy / unit, 4)

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
        if self.limits is None:
            return None
        least = self.limits.seconds(self.cost.moved, self.cost.flops, self.work.element)
        return round(least / seconds, 3) if seconds else None

    @property
    def error(self) -> float | None:
        """The relative error of what we compute."""
        error = self.outcomes["ours"].error
        return None if error is None else float(f"{error:.2e}")

    @property
    def notes(self) -> str:
        """Why cells are empty."""
        return "; ".join(outcome.note for outcome in self.outcomes.values() if outcome.note)


@dataclass(frozen=True)
class Rig:
    """Where rows are measured: the device, its clock, what it can do at best, the head of a file of results."""

    device: torch.device
    clock: Clock
    limits: Limits | None
    head: Mapping[str, str]


Measured = tuple[Sequence[Row], Sequence[str]]
"""Rows, and the limits that were missed."""


@dataclass(frozen=True)
class Job:
    """Rows that are measured together. Those of lower `rank` are run first."""

    name: str
    measure: Callable[[Rig], Measured]
    rank: int = 0


class Table(Protocol):
    """What can be run."""

    @property
    def title(self) -> str: ...
    @property
    def columns(self) -> tuple[Column, ...]: ...
    @property
    def draw(self) -> Draw | None: ...
    @property
    def remarks(self) -> tuple[str, ...]: ...

    def jobs(self, effort: Effort, /) -> Sequence[Job]:
        """What there is to measure."""
        ...


@dataclass(frozen=True)
class Suite:
    """Contests: the columns of the table, its rows, and how the cells of one are filled, by column."""

    title: str
    columns: tuple[Column, ...]
    works: Callable[[Effort], Iterable[Work]]
    cells: Callable[[Found], Mapping[str, Any]]
    draw: Draw
    remarks: tuple[str, ...] = ()

    def jobs(self, effort: Effort, /) -> Sequence[Job]:
        """A job for each row."""
        return [self.job(work) for work in self.works(effort)]

    def job(self, work: Work) -> Job:
        """A row, and what it says of ours that gave no time."""
        name = ", ".join(f"{label} {value}" for label, value in work.labels.items())

        def measured(rig: Rig) -> Measured:
            found = measure(work, rig)
            failed = [c.name for c in work.contestants if found.failed(c)]
            return [self.row(found)], [found.outcomes[contestant].note for contestant in failed]

        return Job(name, measured, work.rank)

    def row(self, found: Found) -> Row:
        """The cells of a row, in the order of the columns."""
        cells = {**found.work.labels, **self.cells(found), "notes": found.notes}
        return tuple(cells.get(column.name) for column in self.columns)


@dataclass(frozen=True)
class Study:
    """What is measured in ways of its own."""

    title: str
    columns: tuple[Column, ...]
    jobs: Callable[[Effort], Sequence[Job]]
    draw: Draw | None = None
    remarks: tuple[str, ...] = ()


def run(table: Table, jobs: Sequence[Job], rig: Rig, seconds: float, file: Path, progress: Progress) -> Results:
    """Measures the rows for which there are `seconds`; `file` holds every row from the moment it is known."""
    end = time.monotonic() + seconds
    rows: dict[int, Sequence[Row]] = {}
    failures: list[str] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as kept:
        kept.write(Results(table.title, table.columns, [], table.remarks).csv(rig.head))
        task = progress.add_task("", total=len(jobs))
        for number in sorted(range(len(jobs)), key=lambda number: jobs[number].rank):
            kept.flush()
            job = jobs[number]
            if time.monotonic() > end:
                break
            progress.update(task, description=job.name)
            try:
                rows[number], missed = job.measure(rig)
            except torch.OutOfMemoryError as reason:
                failures.append(f"{job.name}: {told(reason)}")
                continue
            except RuntimeError as reason:  # the device may be lost, and every row after this one with it
                failures.append(f"{job.name}: stopped here: {told(reason)}")
                break
            kept.write(csv_lines(rows[number]))
            failures += [f"{job.name}: {what}" for what in missed]
            progress.advance(task)
    left = len(jobs) - len(rows)
    remarks = table.remarks + (
        (f"{left} of {len(jobs)} rows were not run: {seconds:.0f} s were over.",) if left else ()
    )
    ordered = [row for number in sorted(rows) for row in rows[number]]
    return Results(table.title, table.columns, ordered, remarks, tuple(failures), table.draw)


def measure(work: Work, rig: Rig) -> Found:
    """One row."""
    if rig.device.type == "cuda":
        torch.cuda.empty_cache()  # the last row's memory, in pieces of its own sizes
    inputs = work.inputs(rig.device)
    wanted = work.truth(inputs) if work.truth is not None else truth(work.spec, inputs, work.params)
    outcomes = contest(work.contestants, inputs, wanted, work.element, rig.clock, work.off)
    return Found(work, work.cost(inputs), outcomes, rig.limits)
