"""`attndsl tune` as a user meets it; a CPU and made-up times stand in for the GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attndsl.bench import timing
from attndsl.cli import tune
from attndsl.cli.group import run
from attndsl.tune import Schedule
from tests.tune.conftest import EXAMPLES, Device, kept

GQA = EXAMPLES / "gqa.attn"
SHAPE = "B=1,Hq=16,Hkv=1,M=1,N=100,D=64,E=64"
FASTER = {"ROWS": 16, "KEYS": 64, "num_warps": 4, "num_stages": 4}


@pytest.fixture
def attndsl(device: Device, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """The command on a made-up GPU: its exit code, and what it prints."""
    monkeypatch.setattr(tune, "gpu", lambda *_: torch.device("cpu"))
    monkeypatch.setattr(timing, "GpuClock", lambda: device)

    def call(*arguments: str) -> tuple[int, str, str]:
        return (run(["tune", str(GQA), "--types", "T=bf16", *arguments]), *capfd.readouterr())

    return call


def test_the_best_is_told_and_kept(attndsl: Any, device: Device) -> None:
    device.microseconds = lambda schedule: 80.0 if schedule == FASTER else 100.0
    code, out, _ = attndsl("--shape", SHAPE)
    assert code == 0
    assert out.startswith("gqa on a GPU: T = bf16, B = 1, Hq = 16, ")
    cells = [[cell.strip() for cell in line.split("│")] for line in out.splitlines() if line.startswith("│")]
    assert cells[0][1:-1] == ["16", "64", "4", "3", "1", "100.0", "1.00", "the tables' choice"]
    assert cells[1][1:-1] == ["16", "64", "4", "4", "1", "80.0", "0.80", ""]
    assert "Kept: 16 rows, 64 keys, 4 warps, 4 stages, 0.80 of the time of the tables' choice." in out
    assert kept(device) == FASTER
    device.microseconds = lambda schedule: 100.0
    code, out, _ = attndsl("--shape", SHAPE)
    assert code == 0 and "The tables' choice stays" in out
    assert kept(device) == {}


def test_roles_are_told_in_words() -> None:
    assert tune._schedule({"ROLES": 1, "num_warps": 4}) == "4 warps, roles"
    assert tune._schedule({"ROLES": 0}) == "no roles"
    assert tune._schedule({"ROLES": 1, "WIDE": 0}) == "roles, fewer rows a tile"


def test_interrupted_it_tells_and_keeps_what_it_has_found(attndsl: Any, device: Device) -> None:
    def microseconds(schedule: Schedule) -> float:
        if len(device.timed) == 6:  # in the third trial
            raise KeyboardInterrupt
        return 80.0 if schedule == FASTER else 100.0

    device.microseconds = microseconds
    code, out, _ = attndsl("--shape", SHAPE)
    assert code == 130
    assert "2 of " in out and "Kept: 16 rows, 64 keys, 4 warps, 4 stages" in out
    assert kept(device) == FASTER


def test_interrupted_before_anything_was_tried_it_leaves_what_was_kept(attndsl: Any, device: Device) -> None:
    device.microseconds = lambda schedule: 80.0 if schedule == FASTER else 100.0
    assert attndsl("--shape", SHAPE)[0] == 0

    def microseconds(schedule: Schedule) -> float:
        raise KeyboardInterrupt

    device.microseconds = microseconds
    assert attndsl("--shape", SHAPE)[0] == 130
    assert kept(device) == FASTER


def test_every_extent_is_asked_for(attndsl: Any) -> None:
    code, out, err = attndsl("--shape", "B=1,Hq=16,Hkv=1,N=100,D=64")
    assert (code, out) == (2, "")
    assert "A schedule is for calls of one size: --shape M=…,E=… is missing." in err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_a_message(capfd: pytest.CaptureFixture[str]) -> None:
    code = run(["tune", str(GQA), "--shape", SHAPE])
    out, err = capfd.readouterr()
    assert (code, out) == (2, "") and "Traceback" not in err
    assert "attndsl tune needs a GPU, and torch" in err and "run it on a machine that has one" in err
