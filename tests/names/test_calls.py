"""Specs of any names, called as users call them: with arrays and tensors, compiled by torch, from a command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl import cache
from attndsl.cli import run as timed
from attndsl.cli.group import run
from attndsl.op.op import Op

from .hostile import TEMPLATE, Names, case_of, fillings, spec_of

FILLINGS = tuple(fillings(29))


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(timed, "SECONDS", 0.0)


def outputs(op: Op, found: Any) -> dict[str, Any]:
    """What a call gives, by name."""
    assert len(found) == len(op.signature.outputs)
    return {tensor.name: np.asarray(value) for tensor, value in zip(op.signature.outputs, found, strict=True)}


@pytest.mark.parametrize("names", FILLINGS, ids=lambda names: names["spec"][:20])
def test_arrays_and_tensors(names: Names) -> None:
    case = case_of(spec_of(names), names)
    op = attndsl.compile(TEMPLATE.format(**names))
    case.check("arrays", outputs(op, op(**case.arrays, **case.params)))
    tensors: dict[str, Any] = {name: torch.from_numpy(array) for name, array in case.arrays.items()}
    case.check("tensors", outputs(op, op(**tensors, **case.params)))


@pytest.mark.parametrize("names", FILLINGS[::4], ids=lambda names: names["spec"][:20])
def test_compiled_by_torch(names: Names) -> None:
    case = case_of(spec_of(names), names)
    op = attndsl.compile(TEMPLATE.format(**names))
    tensors: dict[str, Any] = {name: torch.from_numpy(array) for name, array in case.arrays.items()}
    compiled = torch.compile(lambda tensors: op(**tensors, **case.params), fullgraph=True, backend="aot_eager")
    case.check("torch.compile", outputs(op, compiled(tensors)))


def test_self_is_an_input() -> None:
    op = attndsl.compile("attention t { dims N input self : f32[N] output o : f32[N] each i in N o[i] = self[i] }")
    assert op(self=np.ones(3, np.float32)).tolist() == [1, 1, 1]
    assert op(self=torch.ones(3)).tolist() == [1, 1, 1]
    assert torch.compile(lambda x: op(self=x), fullgraph=True, backend="eager")(torch.ones(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("names", FILLINGS[::4], ids=lambda names: names["spec"][:20])
def test_command_line(names: Names, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hostile.attn"
    path.write_text(TEMPLATE.format(**names))
    shape = f"{names['rows']}=4,{names['keys']}=5,{names['width']}=3"
    params = [f"--param={names['f32']}=0.5", f"--param={names['bool_']}=false"]
    assert run(["run", str(path), "--shape", shape, *params, "--types", f"{names['type']}=f64", "--json"]) == 0
    assert all(output["ok"] for output in json.loads(capfd.readouterr().out)["outputs"])
    assert run(["explain", str(path), "--shape", shape]) == 0
    assert run(["explain", str(path), "--shape", shape, "--target", "cuda:90"]) == 0
    assert run(["compile", str(path), "-o", str(tmp_path / "build")]) == 0
    assert run(["check", str(path)]) == 0
    assert capfd.readouterr().err == ""


ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "inputs, then outputs": sorted,
    "outputs, then inputs": lambda lines: sorted(lines, reverse=True),
    "mixed": lambda lines: [lines[0], lines[2], lines[1], lines[3]],
}
DECLARED = ["input a : f32[N]", "input b : f32[N]", "output o : f32[N]", "output p : f32[N]"]


@pytest.mark.parametrize("order", ORDERS)
def test_declarations_in_any_order(order: str) -> None:
    lines = " ".join(ORDERS[order](DECLARED))
    text = f"attention t {{ dims N {lines} each i in N o[i] = a[i] + 10.0 * b[i] p[i] = a[i] - b[i] }}"
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    given = a.copy(), b.copy()
    op = attndsl.compile(text)
    for found in (op(a=a, b=b), op(a=torch.from_numpy(a), b=torch.from_numpy(b))):
        assert np.array_equal(found.o, a + 10 * b)
        assert np.array_equal(found.p, a - b)
    assert np.array_equal((a, b), given)
    takes = [tensor.name for tensor in op.signature.arguments]
    for target in ("numpy", "triton"):
        assert f"def t({', '.join(takes)}" in op.artifact(target).source
