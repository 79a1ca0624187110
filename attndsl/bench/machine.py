"""Under which circumstances something was measured."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attndsl.processor import processor, vector_extensions

ROOT = Path(__file__).parents[2]
"""The project's checkout, where its gallery and its results are."""

COMMIT = "GIT_COMMIT"
"""The environment variable that names the commit where git cannot, as on a machine that holds a copy of the files."""

SETTINGS = ("OPENBLAS_", "MKL_", "BLIS_", "OMP_")
"""How the names of variables begin by which OpenBLAS, MKL, BLIS and OpenMP are told what code to take, and how."""


def circumstances(program: str, *packages: str) -> dict[str, str]:
    """The date, the command, the commit, the machine and the versions, for the head of a file of results.

    `program` is how this process was started, without its arguments; `packages` are those whose versions matter.
    """
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": shlex.join([*program.split(), *sys.argv[1:]]),
        "commit": _commit(),
        **({"environment": settings} if (settings := _settings()) else {}),
        "processor": f"{processor()}, {cores()} cores, {_memory() / 2**30:.0f} GiB",
        "vector extensions": " ".join(vector_extensions()) or "unknown",
        "load": f"{os.getloadavg()[0]:.1f} processes on average in the minute before",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def _settings() -> str:
    """What the environment says to libraries that multiply."""
    return " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(SETTINGS))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def busy_cores(seconds: float = 1.0) -> float:
    """How many of this process's cores others keep busy while it sleeps."""

    def idle() -> float:
        lines = (line.split() for line in Path("/proc/stat").read_text().splitlines())
        ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        # The columns are the name, then ticks: user, nice, system, idle, waiting for a disk, …
        return sum(int(line[4]) + int(line[5]) for line in lines if line[0] in ours) / os.sysconf("SC_CLK_TCK")

    start, before = time.perf_counter(), idle()
    time.sleep(seconds)
    after, end = idle(), time.perf_counter()
    return max(0.0, cores() - (after - before) / (end - start))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True, stderr=subprocess.DEVNULL).strip()

    if COMMIT in os.environ:
        return os.environ[COMMIT]
    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "attndsl", "passes", "backends")
        return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
