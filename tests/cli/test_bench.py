"""`attndsl bench`: what it says where it cannot measure, and the command's own path with a CPU in a GPU's place."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attndsl.bench import limits, paged, peers, timing
from attndsl.cli import bench


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
    assert help_.code == 0 and all(suite in help_.out for suite in bench.SUITES)
    assert wrong.code == 2 and all(suite in wrong.err for suite in bench.SUITES)


def test_a_suite(attndsl: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wall = timing.WallClock(rounds=1)
    monkeypatch.setattr(bench, "gpu", lambda *_: torch.device("cpu"))
    monkeypatch.setattr(bench, "described", lambda _: {"device": "none"})
    monkeypatch.setattr(timing, "GpuClock", lambda **_: wall)
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
