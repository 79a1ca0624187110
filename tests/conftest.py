"""Golden files: what is printed is compared with what is kept, and kept anew on request."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

# One thread a worker, set before NumPy is imported: two workers' BLAS threads wait for each other on two cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What suits this CPU is told by a table: what two workers measure at once is no two times the same.
os.environ.setdefault("ATTNDSL_CALIBRATE", "0")

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write golden files instead of comparing with them")


def pytest_collection_finish() -> None:
    """Leaves out what is imported by now where garbage is looked for: that took half a second each time.

    Cycles, which modules of the IR are above all, are looked for less often: a tenth of all time went there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Holds a text against the file that keeps it; with `--update-goldens`, writes the file."""
    update = bool(request.config.getoption("--update-goldens"))

    def check(path: Path, text: str) -> None:
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run pytest with --update-goldens and review it"
        assert text == path.read_text(encoding="utf-8"), f"differs from {path.name}; --update-goldens accepts it"

    return check
