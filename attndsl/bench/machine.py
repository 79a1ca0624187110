"""Under which circumstances something was measured."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
"""The project's checkout, where its gallery and its results are."""

COMMIT = "GIT_COMMIT"
"""The environment variable that names the commit where git cannot, as on a machine that holds a copy of the files."""


def circumstances(program: str, *packages: str) -> dict[str, str]:
    """The date, the command, the commit, the machine and the versions, for the head of a file of results.

    `program` is how this process was started, without its arguments; `packages` are those whose versions matter.
    """
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": shlex.join([*program.split(), *sys.argv[1:]]),
        "commit": _commit(),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {_memory() / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f} processes on average in the minute before",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def blas() -> str:
    """The library that NumPy multiplies matrices with."""
    found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{found['name']} {found['version']}"


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


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    known = dict(line.split(":", 1) for line in lines if ":" in line)
    return next((text.strip() for name, text in known.items() if name.strip() == "model name"), platform.machine())


def _memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
