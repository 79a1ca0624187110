"""Suites on a CPU: tiny shapes, and FlexAttention as it runs uncompiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.progress import Progress

from attndsl.bench import peers
from attndsl.bench.limits import Limits
from attndsl.bench.results import Results
from attndsl.bench.suite import Rig, Suite, Work, run
from attndsl.bench.timing import CpuClock

LIMITS = Limits(read=1e10, rates=dict.fromkeys(("f16", "bf16", "f32"), 1e11))

CLOCK = CpuClock(rounds=1, sample=0, pause=0)

Measure = Callable[..., Results]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes a CPU minutes, and what is compiled is no matter here."""
    monkeypatch.setattr(peers, "compiled", lambda function: function)


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Runs rows of a suite; its file is `rows.csv`."""

    def call(suite: Suite, works: Sequence[Work], seconds: float = 600.0, clock: Any = None) -> Results:
        torch.manual_seed(0)
        rig = Rig(torch.device("cpu"), clock or CLOCK, LIMITS, {"device": "a CPU"})
        jobs = [suite.job(work) for work in works]
        with Progress(disable=True) as progress:
            return run(suite, jobs, rig, seconds, tmp_path / "rows.csv", progress)

    return call
