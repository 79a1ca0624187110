"""Tiles of the gallery in homes: the interpreter finds none that is read too late, and NumPy computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

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
from attndsl.testing import Case
from attndsl.testing.stages import Form, lower, program_of

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
