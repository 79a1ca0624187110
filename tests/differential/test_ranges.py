"""Specs whose keys lie in several ranges, with ends wherever they may be: each range has a loop of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.ir import tile
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.passes import split_ranges
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement
from attndsl.testing.stages import Form, choices_of, lower, program_of
from tests.mutants.mutant import planted

ENDS = (3, 0, 9, -1, 2**62)

CHOICES = {
    "said the other way": ("if not (j >= p) then a[j, :] else c[j, :] * a[N - 1 - j, :]", 2),
    "a key alone": ("if j == p then a[j, :] else c[j, :]", 3),
    "three ranges": ("if j < p then a[j, :] else if j < p + 2 then c[j, :] else a[N - 1 - j, :]", 3),
    "ends that nothing orders": ("if j < p then a[j, :] else if j < n[0] then c[j, :] else a[N - 1 - j, :]", 4),
    "a choice of addresses": ("a[if j < p then j else N - 1 - j, :]", 2),
    "of blocks": ("if j / 2 < n[1] then a[j, :] else c[j, :]", 2),
    "data": ("if j < at[j] then a[j, :] else c[j, :]", 1),
}
"""Choices, and how many loops a program's keys are walked in; one more choice would not be worth its code."""


def calls(choice: str) -> Iterator[Case]:
    """Calls of a spec that makes a choice, under a mask with a start and a stop."""
    text = f"""attention ranges(p: int) {{ dims M, N, D  input q : f32[M, D] input a : f32[N, D] input c : f32[N, D]
        input n : i32[2] input at : i32[N]  output o : f32[M, D] output lse : f32[M]  each i in M over j in N
        let k = {choice}  mask = i - 5 < j <= i + 1  score = q[i,:] . k
        o[i,:] = softmax(score, mask) . k  lse[i] = logsumexp(score, mask) }}"""
    spec, random = check(Source(text, "ranges.attn")), np.random.default_rng(0)
    for end in ENDS:
        arrays = {name: random.normal(size=(9, 3)).astype(np.float32) for name in "qac"}
        read = np.array([end % 11, end], np.int64).clip(-(2**31), 2**31 - 1).astype(np.int32)
        arrays |= {"n": read, "at": random.integers(0, 9, 9).astype(np.int32)}
        yield Case(spec, {}, {"M": 9, "N": 9, "D": 3}, {"p": end}, arrays)


def loops(module: ModuleOp) -> int:
    """How many loops over full tiles of keys, or over all, stand one behind the other in the first kernel."""
    kernel = next(op for op in module.body.block.ops if isinstance(op, tile.KernelOp))
    return sum(isinstance(op, tile.LoopOp) and op.axis is not None and op.is_full for op in kernel.body.block.ops)


@pytest.mark.parametrize("name", CHOICES)
def test_ranges_that_end_anywhere(name: str) -> None:
    choice, wanted = CHOICES[name]
    cases = list(calls(choice))
    numpy, triton = Form(rows=4, keys=2), Form("triton", 4, 2, splits=3)
    program, module = program_of(cases[0].spec, lower(cases[0], numpy)), lower(cases[0], triton)
    assert loops(module) == wanted
    for case in cases:
        case.check("numpy", program.run(case))
        case.check("triton", interpret(module, case.arrays, case.dims, case.params, choices_of(triton)))


@planted("triton", "split-ranges")
def keys_behind_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the last tile of a range the keys behind its end count as well, which few drawn specs would show."""
    monkeypatch.setattr(split_ranges._Cut, "stop", lambda cut, row_stop, end, anchor: row_stop)


def test_keys_behind_a_range_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    keys_behind_a_range.patch(monkeypatch)
    with pytest.raises(Disagreement):
        test_ranges_that_end_anywhere("three ranges")
