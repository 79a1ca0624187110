"""Exported programs: they hold the texts of specs, and run in any process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import attndsl

MANY = """attention many(scale: f32 = 1.0 / sqrt(M), shift: int, flag: bool = true, factor: f32) {
    dims M, N
    types T
    input  x    : T[M, N]
    input  bias : T[N] = 0.0
    output o    : T[M]
    output top  : T[M]
    each i in M
    over j in N
    o[i]   = sum(scale * factor * x[i,j] + bias[j], flag and j >= shift)
    top[i] = max(x[i,j])
}
"""

ADD = """attention add(by: f32) {
    dims M, N
    types T, U = f32 | f64
    input  x     : T[M, N]
    inout  total : T[M]
    output seen  : U[M]
    each i in M
    over j in N
    total[i] += sum(by * x[i,j])
    seen[i] = sum(1.0)
}
"""

many, add = attndsl.compile(MANY), attndsl.compile(ADD)


class Both(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        outputs = many(x, shift=2, factor=0.5)
        return outputs.o, outputs.top, many(x, x[0], scale=2.0, shift=x.shape[1] - 3, factor=1.0, flag=False).o


class InPlace(torch.nn.Module):
    def forward(self, x: Any, total: Any) -> Any:
        return add(x, total, by=2.0, U="f64") + 1


class Into(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        o, top = torch.empty(2, 3)
        many(x, shift=1, factor=2.0, out=(o, top))
        return o + top


X = torch.arange(15.0).reshape(3, 5)
N = torch.export.Dim("N", min=3, max=99)
CASES: dict[str, tuple[Callable[[], torch.nn.Module], tuple[torch.Tensor, ...], Any]] = {
    "both": (Both, (X,), {"x": {1: N}}),
    "in place": (InPlace, (X, torch.ones(3)), {"x": {1: N}, "total": None}),
    "into": (Into, (X,), {"x": {1: N}}),
}

CALLED = {"both": ["call"], "in place": ["empty", "write"], "into": ["write"]}


def exported(name: str, strict: bool) -> Any:
    make, given, dynamic = CASES[name]
    return torch.export.export(make(), given, dynamic_shapes=dynamic, strict=strict)


def own(graph: torch.fx.Graph) -> set[str]:
    """What the graph calls of attndsl."""
    return {str(node.target) for node in graph.nodes if "attndsl" in str(node.target)}


@pytest.mark.parametrize("lowered", [False, pytest.param(True, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("name", CASES)
def test_an_exported_program_does_what_the_module_does(name: str, strict: bool, lowered: bool) -> None:
    program = exported(name, strict)
    if lowered:
        program = program.run_decompositions()
    wide = torch.cat([X, X], 1)
    for x in (X, wide):
        wanted = [x, *(each.clone() for each in CASES[name][1][1:])]
        given = [x, *(each.clone() for each in CASES[name][1][1:])]
        torch.testing.assert_close(program.module()(*given), CASES[name][0]()(*wanted))
        torch.testing.assert_close(given, wanted)
    if lowered and name != "both":  # torch wraps what writes
        return
    assert own(program.graph) == {f"attndsl.{each}.default" for each in CALLED[name]}


def test_a_program_is_loaded_in_a_fresh_process(tmp_path: Path) -> None:
    """With every kind of call, and gradients."""
    for number, name in enumerate(CASES):
        torch.export.save(exported(name, False), tmp_path / f"{number}.pt2")
        wanted = CASES[name][0]()(*(each.clone() for each in CASES[name][1]))
        torch.save((CASES[name][1], wanted), tmp_path / f"{number}.pt")
    torch.save(torch.autograd.grad(Both()(x := X.clone().requires_grad_())[0].sum(), x), tmp_path / "gradient.pt")
    program = f"""
import sys, torch, attndsl.torch
folder, gradient = {str(tmp_path)!r}, torch.load({str(tmp_path / "gradient.pt")!r})
for number in range({len(CASES)}):
    module = torch.export.load(f"{{folder}}/{{number}}.pt2").module()
    given, wanted = torch.load(f"{{folder}}/{{number}}.pt")
    found = module(*given)
    torch.testing.assert_close(found, wanted)
    if number == 0:
        x = given[0].requires_grad_()
        torch.testing.assert_close(torch.autograd.grad(module(x)[0].sum(), x), gradient)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.matrix
def test_a_package_of_aotinductor_is_loaded_in_a_fresh_process(tmp_path: Path) -> None:
    program = exported("both", False)
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "both.pt2"))
    torch.save((X, Both()(X)), tmp_path / "call.pt")
    program = f"""
import torch, attndsl.torch
x, wanted = torch.load({str(tmp_path / "call.pt")!r})
found = torch._inductor.aoti_load_package({package!r})(x)
torch.testing.assert_close(tuple(found), wanted)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
