"""Tuning on a real GPU: `make test-gpu`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import attndsl
from attndsl.cache import ENVIRONMENT, user_cache
from attndsl.cli.group import run
from attndsl.op.gpu import GpuCalls
from attndsl.op.torch_tensors import check

pytestmark = pytest.mark.gpu

GQA = Path(__file__).parents[2] / "examples" / "gqa.attn"


def test_a_call_is_tuned_and_launched_as_was_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")  # a cell of the table is one line
    shape = "B=1,Hq=16,Hkv=1,M=1,N=30000,D=64,E=64"
    assert run(["tune", str(GQA), "--shape", shape, "--types", "T=bf16", "--budget", "10"]) == 0
    out = capfd.readouterr().out
    assert "the tables' choice" in out and "schedules were tried" in out
    assert len(list((user_cache().folder / "tuned").iterdir())) == 1

    op: Any = attndsl.load(GQA)
    shapes = {"q": (1, 16, 1, 64), "k": (1, 1, 30000, 64), "v": (1, 1, 30000, 64)}
    given = {name: torch.randn(size, device="cuda").bfloat16() for name, size in shapes.items()}
    tensors = list(given.values())
    bound = check(op.signature, tensors, {})
    tuned = GpuCalls(op.binding).program(bound, tensors[0].device).tuned
    found = []
    for schedule in ({}, {"ROWS": 16, "KEYS": 32, "num_warps": 8, "num_stages": 1}):
        tuned.put(bound.dims, schedule)
        calls = GpuCalls(op.binding)
        found.append(calls.compute(tensors, {})[0].double())
        (plan,) = calls._plans.values()
        metadata = plan.launches[0].kernel.metadata
        assert ((metadata.num_warps, metadata.num_stages) == (8, 1)) == bool(schedule)
    torch.testing.assert_close(found[0], found[1], rtol=2**-6, atol=2**-10)


def test_small_boxes_are_read_by_addresses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The log-sum-exps of 16 queries are less than what may be copied into the second stage of a ring."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    assert run(["grad", "causal_end", "--of", "k,v"]) == 0
    (path := tmp_path / "backward.attn").write_text(capfd.readouterr().out, encoding="utf-8")
    op: Any = attndsl.load(path)
    n, width = 1024, 64
    tensors = [torch.randn(4, 16, n, width, device="cuda").bfloat16() for _ in range(6)]
    tensors[4] = torch.full((4, 16, n), 5.0, device="cuda")  # the log-sum-exp: q, k, v, o, lse, d_o
    bound = check(op.signature, tensors, {})
    program = GpuCalls(op.binding).program(bound, tensors[0].device)
    assert "load box @lse" in program.artifact.ir["tile"]
    found = []
    for keys in (64, 16):
        program.tuned.put(bound.dims, {"ROWS": 64, "KEYS": keys, "num_warps": 4, "num_stages": 3})
        calls = GpuCalls(op.binding)
        found.append([gradient.double() for gradient in calls.compute(tensors, {})])
        torch.cuda.synchronize()
        (plan,) = calls._plans.values()
        assert plan.launches[-1].kernel.metadata.num_stages == 3
    torch.testing.assert_close(found[0], found[1], rtol=2**-6, atol=2**-6)
