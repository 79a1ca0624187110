"""The clock of the benchmarks, and one suite by its command."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from attndsl.bench.timing import GpuClock, Turn, captured
from attndsl.cli.group import run

pytestmark = pytest.mark.gpu


def test_the_clock_tells_the_device_from_the_host() -> None:
    """A product of large matrices takes longer than an addition of one number, which takes mostly Python's time."""
    large, small = torch.randn(4096, 4096, device="cuda").bfloat16(), torch.zeros(1, device="cuda")
    times = GpuClock().race({"large": Turn([lambda: large @ large]), "small": Turn([lambda: small + 1] * 3)})
    assert 0 < times["small"].seconds <= times["small"].eager
    assert times["small"].seconds < times["large"].seconds


def test_what_cannot_be_captured_is_timed_without_a_graph() -> None:
    x = torch.zeros(8, device="cuda")
    assert captured(Turn([lambda: x.sum().item()])) is None
    assert float(x.sum()) == 0, "the device is well after it"
    assert torch.randn(8, device="cuda").isfinite().all(), "and so are its random numbers"
    times = GpuClock(rounds=1).race({"reads": Turn([lambda: x.sum().item()])})
    assert times["reads"].seconds == times["reads"].eager > 0


def test_a_suite(tmp_path: Path) -> None:
    assert run(["bench", "paged", "--quick", "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "paged.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(rows) == 2 and all(float(row["ours"]) > 0 and float(row["naive"]) > 0 for row in rows)
    head = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    assert head["device"] == torch.cuda.get_device_name() and head["read limit"].endswith("GB/s")
