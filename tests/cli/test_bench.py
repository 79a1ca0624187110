"""`attndsl bench`: what it says where it cannot measure, and the command's own path with a CPU in a GPU's place."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attndsl.bench import limits, paged, peers, rig, startup, timing
from attndsl.bench.suite import Job
from attndsl.cli import bench

SUITES = (*bench.ON_GPU, *bench.ON_CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_a_message(attndsl: Any) -> None:
    result = attndsl("bench", "paged")
    assert result.code == 2 and result.out == ""
    assert "attndsl bench needs a GPU, and torch" in result.err and "Traceback" not in result.err


def test_no_torch_is_a_message(attndsl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    result = attndsl("bench", "paged")
    assert result.code == 2 and "pip install 'torch" in result.err and "attndsl[" not in result.err


def test_suites_are_named(attndsl: Any) -> None:
    help_, wrong = attndsl("bench", "--help"), attndsl("bench", "prefil")
    assert help_.code == 0 and all(suite in help_.out for suite in SUITES)
    assert wrong.code == 2 and all(suite in wrong.err for suite in SUITES)


def test_a_suite(attndsl: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wall = timing.CpuClock(rounds=1, sample=0, pause=0)
    monkeypatch.setattr(bench, "gpu", lambda *_: torch.device("cpu"))
    monkeypatch.setattr(rig, "described", lambda _: {"device": "none"})
    monkeypatch.setattr(rig, "GpuClock", lambda **_: wall)
    small, measure = {"bytes_": 4096, "side": 16}, limits.measure
    monkeypatch.setattr(limits, "measure", lambda device, clock, **_: measure(device, clock, **small))
    monkeypatch.setattr(peers, "compiled", lambda function: function)
    monkeypatch.setattr(paged, "SUITE", replace(paged.SUITE, works=lambda _: [paged.decode(4, 2, 16, 2, 64)]))
    result = attndsl("bench", "paged", "--quick", "--out", tmp_path / "kept", "--budget", "60")
    assert result.code == 0, result.err
    text = (tmp_path / "kept" / "paged.csv").read_text()
    for part in ("# command: attndsl", "# commit: ", "# device: none", "# torch: ", "# read limit: ", "# date: "):
        assert part in text
    assert (tmp_path / "kept" / "paged.svg").exists()
    assert "speed-up" in result.out


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is set for libraries, which this process has loaded, in the place of its environment."""
    environment = {**os.environ}
    monkeypatch.setattr(os, "environ", environment)
    return environment


@pytest.mark.parametrize(("busy", "by"), [(0.0, "the wall"), (1.4, "the processors")])
def test_a_suite_on_a_cpu(
    attndsl: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: dict[str, str], busy: float, by: str
) -> None:
    before = torch.get_num_threads()
    monkeypatch.setattr(rig, "busy_cores", lambda: busy)
    clocks = []

    def work(found: Any) -> tuple[list[Any], list[str]]:
        clocks.append((found.clock, torch.get_num_threads()))
        return [("a", 1.0, 1.0, 1.0, None, None)], []

    table = replace(startup.SUITE, jobs=lambda _: [Job("a", work)])
    monkeypatch.setattr(startup, "SUITE", table)
    try:
        result = attndsl("bench", "startup", "--threads", "1", "--out", tmp_path / "kept")
    finally:
        torch.set_num_threads(before)
    assert result.code == 0, result.err
    assert clocks == [(timing.CpuClock(by_processor=by == "the processors"), 1)]
    wanted = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "ATTNDSL_NUM_THREADS": "1"}
    assert held.items() >= wanted.items()
    text = (tmp_path / "kept" / "startup.csv").read_text()
    for part in ("# vector extensions: ", "# blas: ", f"# time: {by}: others keep {busy} ", "# threads: 1 for all"):
        assert part in text


def test_threads_are_for_a_cpu(attndsl: Any) -> None:
    result = attndsl("bench", "paged", "--threads", "2")
    assert result.code == 2 and "--threads is for suites on a CPU, and paged runs on a GPU" in result.err
