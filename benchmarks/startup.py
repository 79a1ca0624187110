"""How long a user waits before anything is computed.

    python benchmarks/startup.py

Prints the median time of `attndsl check` on a spec from a cold start, with Python's own beside it, and of a cached
`attndsl.load` in a process that has imported NumPy; then which heavy packages that process has imported. Exits with 1
where a limit is passed.
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


def wall(*command: str) -> float:
    """The median seconds of a command."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load() -> tuple[float, list[str]]:
    """The median seconds of a cached load, and the heavy packages that it imports."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "ATTNDSL_CACHE_DIR": cache}
        runs = [
            json.loads(subprocess.check_output([sys.executable, "-c", LOAD], env=environment))
            for _ in range(ROUNDS + 1)  # the first fills the cache
        ]
    return statistics.median(seconds for seconds, _ in runs[1:]), runs[-1][1]


def main() -> int:
    """Measure, print, and judge."""
    nothing, check, (seconds, heavy) = wall("-c", "pass"), wall("-m", "attndsl", "check", str(SPEC)), load()
    table = Table(title=f"start-up, {SPEC.name}, median of {ROUNDS}", title_justify="left")
    for column in ("", "ms", "limit"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_row("python -c pass", f"{nothing * 1e3:.0f}", "")
    table.add_row("attndsl check", f"{check * 1e3:.0f}", f"{CHECK_LIMIT * 1e3:.0f}")
    table.add_row("attndsl.load, cached", f"{seconds * 1e3:.1f}", f"{LOAD_LIMIT * 1e3:.0f}")
    console = Console()
    console.print(table)
    console.print(f"heavy packages that the cached load imports: {', '.join(heavy) or 'none'}")
    return int(check > CHECK_LIMIT or seconds > LOAD_LIMIT or bool(heavy))


if __name__ == "__main__":
    sys.exit(main())
