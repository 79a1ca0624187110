"""How long a user waits before anything is computed."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

from attndsl.bench.machine import ROOT
from attndsl.bench.results import Column, Row, milliseconds, of_milliseconds
from attndsl.bench.suite import Effort, Job, Measured, Rig, Study

SPEC = ROOT / "examples" / "gqa.attn"
ROUNDS, QUICK_ROUNDS = 21, 5
HEAVY = ("lark", "xdsl", "torch", "triton", "click", "rich")

CHECK_LIMIT = 400
"""Milliseconds for `attndsl check`, from the shell to the shell."""

LOAD_LIMIT = 50
"""Milliseconds for `attndsl.load` of a spec that the cache knows, in a process that has imported NumPy."""

ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""What a user's shell has: Python keeps the bytecode of what it has imported once."""

TIMED = """
import json, sys, time
import numpy
wall, busy = time.perf_counter(), time.thread_time()
{work}
times = [time.perf_counter() - wall, time.thread_time() - busy]
print(json.dumps([times, sorted({heavy!r} & set(sys.modules))]))
"""

LOAD = f"import attndsl; attndsl.load({str(SPEC)!r})"
COMPILE = f"import attndsl; attndsl.load({str(SPEC)!r}).source"

COLUMNS = (
    Column("what"),
    Column("wall", of_milliseconds),
    Column("fastest", of_milliseconds),
    Column("processor", of_milliseconds),
    Column("limit", of_milliseconds),
    Column("heavy imports"),
)


Times = tuple[float, float]
"""Seconds of the clock and of the processor."""


def whole(*command: str) -> Times:
    """The times of a Python process, from the shell to the shell."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return end - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def inside(work: str, cache: str) -> tuple[Times, list[str]]:
    """The times of a piece of Python in a new process that has imported NumPy, and the heavy packages it imported."""
    script = TIMED.format(work=work, heavy=set(HEAVY))
    environment = {**ENVIRONMENT, "ATTNDSL_CACHE_DIR": cache}
    (wall, busy), heavy = json.loads(subprocess.check_output([sys.executable, "-c", script], env=environment))
    return (wall, busy), heavy


def measured(rounds: int, rig: Rig) -> Measured:
    """All rows, in turns, so that what else the machine does falls on all alike."""
    python, check, load, program, first = (list[Times]() for _ in range(5))
    with tempfile.TemporaryDirectory() as kept:
        inside(COMPILE, kept)
        whole("-m", "attndsl", "check", str(SPEC))
        for _ in range(rounds):
            python.append(whole("-c", "pass"))
            check.append(whole("-m", "attndsl", "check", str(SPEC)))
            times, heavy = inside(LOAD, kept)
            load.append(times)
            program.append(inside(COMPILE, kept)[0])
            with tempfile.TemporaryDirectory() as empty:
                first.append(inside(COMPILE, empty)[0])
    rows = [
        row("python -c pass", python),
        row("attndsl check, whole process", check, CHECK_LIMIT),
        row("attndsl.load, cached", load, LOAD_LIMIT, ", ".join(heavy) or "none"),
        row("attndsl.load and its program, cached", program),
        row("attndsl.load and its program, compiled", first),
    ]
    return rows, failures(rows)


def jobs(effort: Effort) -> list[Job]:
    """All rows together."""
    rounds = QUICK_ROUNDS if effort is Effort.QUICK else ROUNDS
    return [Job(f"{rounds} rounds", partial(measured, rounds))]


def row(what: str, times: list[Times], limit: int | None = None, heavy: str | None = None) -> Row:
    """A row of the table."""
    wall, busy = zip(*times, strict=True)
    columns = (statistics.median(wall), min(wall), statistics.median(busy))
    return (what, *map(milliseconds, columns), limit, heavy)


def failures(rows: list[Row]) -> list[str]:
    """The limits that were missed, and what was imported that should not be."""
    late = [f"{what}: {busy:.0f} ms, limit {limit} ms" for what, *_, busy, limit, _ in rows if limit and busy > limit]
    return late + [f"{what}: imports {heavy}" for what, *_, heavy in rows if heavy not in (None, "none")]


SUITE = Study(
    title=f"Start-up with {SPEC.name}, milliseconds",
    columns=COLUMNS,
    jobs=jobs,
    remarks=(
        "The last three are measured inside a process that has imported NumPy and nothing of attndsl.",
        f"Heavy imports are those among {', '.join(HEAVY)}.",
        f"Wall and processor are medians of {ROUNDS} rounds, {QUICK_ROUNDS} with --quick.",
        "Limits are judged by the working thread's processor time: the rest is what else the machine does.",
    ),
)
