"""Tiles of the gallery in homes: the interpreter finds none that is read too late, and NumPy computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from attndsl.checking.check import check
from attndsl.driver.library import checked
from attndsl.ir import tile
from attndsl.ir.allocation import assign, propose
from attndsl.ir.analyses.liveness import Liveness
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.interpret import interpret
from attndsl.ir.residence import Overwritten
from attndsl.ir.rewrite import replace
from attndsl.ir.xdsl import ModuleOp, Operation
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.stages import Form, compile_program, lower, program_of

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))

QUICK = ("differential", "gqa", "mla_projections", "paged_decode", "topk_sparse")
"""Specs with several states, ranges that end where rows say, loops of contractions, gathers, and one key at a time."""


def settled(case: Case, wanted: Callable[[Operation], bool]) -> ModuleOp:
    """A lowered module, with homes for the tiles of the operations that are wanted, and no others."""
    module = lower(case, Form())
    for kernel in module.body.block.ops:
        if isinstance(kernel, tile.KernelOp):
            for op in [op for op in kernel.walk() if isinstance(op, tile.HomeOp | tile.IntoOp)]:
                replace(op, [])
            assign(kernel, propose(kernel, wanted))
    return module


@pytest.mark.parametrize(
    "path",
    [path if path.stem in QUICK else pytest.param(path, marks=pytest.mark.matrix) for path in GALLERY],
    ids=lambda path: path.stem,
)
def test_tiles_share_homes_and_nothing_is_read_too_late(path: Path) -> None:
    spec = checked(read_source(str(path)))
    case = Case.make(spec, seed=2, hostile=True).poisoned()
    draw = Random(path.stem)
    for wanted in (lambda op: not isinstance(op, tile.LoadOp), lambda op: draw.random() < 0.5):
        module = settled(case, wanted)
        module.verify()
        text = print_module(module)
        assert print_module(parse_module(text)) == text
        case.check("homes", interpret(module, case.arrays, case.dims, case.params))
        program = program_of(spec, module)
        assert "out=" in program.source
        case.check("numpy", program.run(case))


@pytest.mark.parametrize("path", [path for path in GALLERY if path.stem in QUICK], ids=lambda path: path.stem)
def test_homes_that_are_shared_too_freely_are_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.make(checked(read_source(str(path))), seed=2)
    monkeypatch.setattr(Liveness, "clash", lambda *tiles: False)
    module = settled(case, lambda op: not isinstance(op, tile.LoadOp))
    with pytest.raises(Overwritten):
        interpret(module, case.arrays, case.dims, case.params)


ENDS = {
    "a parameter": ("p", "true"),
    "what a parameter leaves": ("N - p", "true"),
    "a mask by a parameter": ("N", "j < p"),
    "places of a tensor": ("N", "k[b, j + p, 0] < 1.0"),
}
"""Ends of keys that may lie before their begin: the extent of an index, and a mask."""


@pytest.mark.parametrize("name", ENDS)
def test_no_home_has_a_negative_size(name: str) -> None:
    over, mask = ENDS[name]
    text = f"""attention ends(p: int) {{
        dims B, M, N, D
        input  q : f32[B, M, D]
        input  k : f32[B, N, D]
        input  w : f32[M, N]
        output o : f32[B, M, D]
        each b in B, i in M
        over j in {over}
        score = q[b,i,:] . k[b,j,:]
        o[b,i,:] = softmax(score - exp(w[i,j]), {mask}) . k[b,j,:]
    }}"""
    spec = check(Source(text))
    program = compile_program(spec, {})
    assert "scratch" in program.source
    for p in (-9, -2, 0, 3, 9):
        case = Case.make(spec, seed=p + 9, dims={"B": 2, "M": 5, "N": 7, "D": 3}, params={"p": p})
        case.check("numpy", program.run(case))
