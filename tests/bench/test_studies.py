"""What is measured in ways of its own: it runs at its smallest, and what is wrong or late is told."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from rich.progress import Progress

from attndsl.bench import cpu_call, launch, memory, startup
from attndsl.bench.results import Results
from attndsl.bench.suite import Effort, Rig, Study, run
from attndsl.op.op import Op
from tests.bench.conftest import CLOCK


def ran(study: Study, folder: Path) -> Results:
    """What a study finds with the least effort."""
    rig = Rig(torch.device("cpu"), CLOCK, None, {})
    with Progress(disable=True) as progress:
        return run(study, study.jobs(Effort.QUICK), rig, 600.0, folder / "rows.csv", progress)


@pytest.mark.parametrize(
    ("study", "drawn"),
    [(memory.SUITE, True), (startup.SUITE, False), (cpu_call.SUITE, False)],
    ids=["memory", "startup", "cpu-call"],
)
def test_smallest(study: Study, drawn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SIZES", (256, 512))
    monkeypatch.setattr(startup, "QUICK_ROUNDS", 2)
    results = ran(study, tmp_path)
    assert all("limit" in failure for failure in results.failures)  # which may be missed, on a busy machine
    table, *drawings = results.save(tmp_path, "kept", {})
    columns, *rows = csv.reader(line for line in table.read_text().splitlines() if not line.startswith("#"))
    assert rows and all(len(row) == len(columns) for row in rows)
    assert [ElementTree.parse(path).getroot().tag.endswith("svg") for path in drawings] == [True] * drawn


def test_the_naive_form_is_counted_in_full() -> None:
    with memory.Meter() as meter:
        q, k, v = np.random.default_rng(0).standard_normal((3, 1, memory.HEADS, 256, 64), np.float32)
        o, counted = meter.of(memory.naive, q=q, k=k, v=v)
    assert memory.off(o, {"q": q, "k": k, "v": v}) is None
    assert memory.naive_bytes(256) <= counted + o.nbytes < 1.5 * memory.naive_bytes(256)


def test_what_a_call_keeps_counts_in_later_ones() -> None:
    kept: list[Any] = []

    def call(x: Any) -> Any:
        if not kept:
            kept.append(np.empty(2**20, np.uint8))
        return x.copy()

    with memory.Meter() as meter:
        x = np.zeros(2**16)
        for _ in range(2):
            o, counted = meter.of(call, x=x)
            assert 2**20 <= counted < 1.1 * 2**20
            del o


def test_wrong_results_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SIZES", (128,))
    right = Op.__call__

    def wrong(self: Op, **given: Any) -> Any:
        written = right(self, **given)
        (written[0] if isinstance(written, tuple) else written)[0, 0, -1] *= 2
        return written

    monkeypatch.setattr(Op, "__call__", wrong)
    results = ran(memory.SUITE, tmp_path)
    assert results.rows[0][3] == "WRONG" and results.rows[0][5] is None
    assert results.failures[0].startswith("N 128 … 128: N = 128: ours: off by 6")
    assert results.rows[1][:2] == ("backward", 128) and results.rows[1][3] == "WRONG"
    assert "N = 128: backward: off by 9" in results.failures[1]


def test_a_missed_limit_is_a_failure() -> None:
    quick, slow, lark = [(0.9, 0.02), (0.8, 0.03)], [(0.1, 0.06)], [(0.1, 0.0)]
    rows = [startup.row("quick", quick, 50), startup.row("slow", slow, 50), startup.row("l", lark, 50, "lark")]
    assert startup.failures(rows) == ["slow: 60 ms, limit 50 ms", "l: imports lark"]


@pytest.mark.parametrize(("host", "ours", "late"), [(20e-6, 1.0, False), (40e-6, 2.0, True)])
def test_launches_are_held_to_limits(host: float, ours: float, late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    firsts = zip(launch.FIRSTS, (ours, 5.0), strict=True)
    cold = [("first output, empty caches", who, seconds, seconds) for who, seconds in firsts]
    monkeypatch.setattr(launch, "host_rows", lambda _: [("host, the same decode call", "attndsl", host, host)])
    monkeypatch.setattr(launch, "first_rows", lambda _: cold)
    rig = Rig(torch.device("cpu"), CLOCK, None, {})
    (rows, slow), (first, seldom) = (job.measure(rig) for job in launch.jobs(Effort.QUICK))
    assert (len(rows), len(first)) == (1, 2)
    assert slow == (["a decode launch takes 40 µs of Python, limit 30 µs"] if late else [])
    assert seldom == (["a first output comes 2.5 times sooner than FlexAttention's, not 3"] if late else [])
