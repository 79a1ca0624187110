"""What the commands print with `--json` is JSON by RFC 8259, which has neither infinities nor NaN."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from attndsl.cli import run as run_module
from attndsl.driver.plain_json import to_json

SPEC = """attention bounded(high: f32 = 1e38, low: f32 = -1e38, scale: f32 = 2.0) {
    dims N
    require low < inf and -inf < high or high == inf
    input  x : f32[N]
    output o : f32[N]
    each i in N
    o[i] = minimum(maximum(x[i] * scale, low), high)
}
"""


def strict(text: str) -> Any:
    """A value as a reader takes it who knows no Infinity."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_module, "SECONDS", 0.0)
    path = tmp_path / "bounded.attn"
    path.write_text(SPEC)
    return path


@pytest.mark.parametrize("command", ["check", "compile", "run", "explain", "fuzz"])
def test_every_command_s_json_is_strict(attndsl: Any, spec: Path, command: str) -> None:
    more = {"fuzz": ("--examples", "2"), "run": ("--param", "high=inf", "--param", "low=-inf")}
    result = attndsl(command, spec, "--json", *more.get(command, ()))
    assert result.code == 0, result.err
    told = strict(result.out)
    if command == "check":
        assert "inf" in str(told["files"][0]["signature"]["requires"])
    if command == "run":
        assert told["params"] == {"high": "inf", "low": "-inf", "scale": 2.0}


def test_an_error_without_end_is_told(attndsl: Any, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_compare", lambda *_: [run_module.ComparedOutput("o", (3,), math.nan, math.inf)])
    result = attndsl("run", spec, "--json")
    (output,) = strict(result.out)["outputs"]
    assert (output["error"], output["bound"]) == ("nan", "inf")


def test_a_kept_call_is_strict_and_runs_again(attndsl: Any, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "peer_of_bounded.py").write_text("def f(**_): raise RuntimeError('no kernel')\n")
    peer = ("--against", "peer_of_bounded:f")
    result = attndsl("fuzz", spec, *peer, "--param", "high=inf", "--param", "low=-inf", "--json", "--out", "kept")
    assert result.code == 1, result.err
    place = strict(result.out)["failure"]
    params = strict((tmp_path / place / "call.json").read_text())["params"]
    assert (params["high"], params["low"]) == ("inf", "-inf")
    again = attndsl("fuzz", "--replay", place, *peer)
    assert again.code == 1 and "no kernel" in again.out


def test_floats_come_back() -> None:
    value = {"a": [math.inf, (-math.inf, math.nan)], "b": {"c": 1.5, "d": 0.1, "e": None, "f": True, "g": 2**62}}
    assert strict(to_json(value)) == {
        "a": ["inf", ["-inf", "nan"]],
        "b": {"c": 1.5, "d": 0.1, "e": None, "f": True, "g": 2**62},
    }
    assert [str(float(text)) for text in ("inf", "-inf", "nan")] == ["inf", "-inf", "nan"]
