"""`attndsl run`: what it reports, and that it tells right from wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from attndsl.cli import run as run_module


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "SECONDS", 0.0)


def test_the_report(attndsl: Any, gqa: Path) -> None:
    result = attndsl("run", gqa, "--shape", "B=2,M=5", "--types", "T=bf16")
    assert result.code == 0
    assert result.out.startswith("gqa, T = bf16, B = 2, ")
    assert re.search(r"o +│ 2 × \d+ × 5 × \d+ +│ +\S+ │ +\S+ │ agrees", result.out)
    assert re.search(r"[\d.]+ ms a call \(median\); it reads \S+ \w+ and writes \S+ \w+\n$", result.out)
    assert "\033" not in result.out


def test_what_is_written_in_place_is_told(attndsl: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.attn"
    path.write_text("attention a { dims N inout x : f32[N] each i in N x[i] = x[i] + 1 }")
    result = attndsl("run", path, "--shape", "N=2")
    assert result.out.endswith("it reads 8 B and writes 0 B, and of what it reads some in place\n")
    assert re.search(r"x +│ 2 +│ +\S+ │ +\S+ │ agrees", result.out)


def test_json(attndsl: Any, gallery: Path) -> None:
    result = attndsl("run", gallery / "sliding_window.attn", "--param", "window=2", "--seed", "5", "--json")
    report = json.loads(result.out)
    (output,) = report["outputs"]
    assert (output["name"], output["ok"], report["params"]) == ("o", True, {"window": 2})
    assert 0 <= output["error"] <= output["bound"]
    assert report["milliseconds"] > 0
    assert report["bytes_read"] > report["bytes_written"] > 0


def test_empty_dims(attndsl: Any, gqa: Path) -> None:
    assert attndsl("run", gqa, "--shape", "B=0").code == 0
    assert attndsl("run", gqa, "--shape", "N=0").code == 0


def test_several_outputs(attndsl: Any, gallery: Path) -> None:
    report = json.loads(attndsl("run", gallery / "lse.attn", "--json").out)
    assert [output["name"] for output in report["outputs"]] == ["o", "lse"]


@pytest.mark.parametrize("mistake", ["got * np.float32(1.01)", "np.full_like(got, np.nan)", "np.flip(got)"])
def test_a_wrong_result_is_found(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    import numpy as np

    from attndsl.op.op import Op

    right = Op.__call__

    def wrong(self: Op, /, **arguments: Any) -> Any:
        return eval(mistake, {"np": np, "got": right(self, **arguments)})

    monkeypatch.setattr(Op, "__call__", wrong)
    result = attndsl("run", gqa)
    assert result.code == 1
    assert "differs" in result.out


def test_shapes_that_the_spec_refuses(attndsl: Any, gqa: Path) -> None:
    result = attndsl("run", gqa, "--shape", "Hq=5,Hkv=2")
    assert (result.code, result.out) == (2, "")
    assert "gqa requires Hq % Hkv == 0, which does not hold for Hq = 5 and Hkv = 2" in result.err


def test_extents_are_chosen_for_the_parameters_that_are_given(attndsl: Any, tmp_path: Path) -> None:
    path = tmp_path / "wide.attn"
    body = "input x : f32[N] output o : f32[N] require N > p each i in N o[i] = x[i]"
    path.write_text(f"attention wide(p: int = 5000) {{ dims N {body} }}")
    assert "wide requires N > p; no small N meets that with p = 5000" in attndsl("run", path).err
    assert attndsl("run", path, "--param", "p=8").code == 0
