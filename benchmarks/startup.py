"""How long a user waits before anything is computed.

    python benchmarks/startup.py

Prints the times of `attndsl check` on a spec from a cold start, with Python's own beside them, and of a cached
`attndsl.load` in a process that has imported NumPy; then which heavy packages that process has imported. Exits with 1
where the fastest of several is past its limit: the rest of a median is what else the machine does.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

SPEC = Path(__file__).parents[1] / "examples" / "mla_paged.attn"
ROUNDS = 15
HEAVY = ("lark", "xdsl", "torch", "triton", "click", "rich")

CHECK_LIMIT = 0.4
"""Seconds for `attndsl check`, from the shell to the shell."""

LOAD_LIMIT = 0.05
"""Seconds for `attndsl.load` of a spec that the cache knows."""

LOAD = f"""
import json, sys, time
import numpy
start = time.perf_counter()
import attndsl
attndsl.load({str(SPEC)!r})
print(json.dumps([time.perf_counter() - start, sorted({set(HEAVY)!r} & set(sys.modules))]))
"""


def wall(*command: str) -> list[float]:
    """The seconds of a command, from the shell to the shell."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return times


def load() -> tuple[list[float], list[str]]:
    """The seconds of a cached load, and the heavy packages that it imports."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "ATTNDSL_CACHE_DIR": cache}
        runs = [
            json.loads(subprocess.check_output([sys.executable, "-c", LOAD], env=environment))
            for _ in range(ROUNDS + 1)  # the first fills the cache
        ]
    return [seconds for seconds, _ in runs[1:]], runs[-1][1]


def main() -> int:
    """Measure, print, and judge."""
    loads, heavy = load()
    table = Table(title=f"start-up, {SPEC.name}, {ROUNDS} times, in ms", title_justify="left")
    for column in ("", "fastest", "median", "limit"):
        table.add_column(column, justify="right" if column else "left")
    passed = True
    for name, times, limit in (
        ("python -c pass", wall("-c", "pass"), None),
        ("attndsl check", wall("-m", "attndsl", "check", str(SPEC)), CHECK_LIMIT),
        ("attndsl.load, cached", loads, LOAD_LIMIT),
    ):
        passed &= limit is None or min(times) <= limit
        table.add_row(
            name,
            *(f"{t * 1e3:.1f}" for t in (min(times), statistics.median(times))),
            f"{limit * 1e3:.0f}" if limit else "",
        )
    console = Console()
    console.print(table)
    console.print(f"heavy packages that the cached load imports: {', '.join(heavy) or 'none'}")
    return int(not passed or bool(heavy))


if __name__ == "__main__":
    sys.exit(main())
