"""What the compiler once got wrong, each as the smallest spec that showed it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Kind
from attndsl.ir.interpret import interpret
from attndsl.storage import ELEMENTS, decode, encode
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages
from attndsl.testing.stages import Form, choices_of, lower

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.attn"))

TRITON = (Form("triton", rows=4, keys=3, splits=2), Form("triton", rows=0, keys=0))
"""Tiles of some size, and tiles that a launch chooses."""


def calls(path: Path) -> list[Case]:
    """Calls of a spec: a sensible one, a hostile one, whose numbers are whole, and one without features."""
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    hostile = Case.make(spec, seed=1, hostile=True)
    for name in (tensor.name for tensor in spec.inputs):
        element = hostile.element(name)
        if ELEMENTS[element].kind is Kind.FLOAT:
            hostile.arrays[name][...] = encode(np.rint(decode(hostile.arrays[name], element)), element)
    cases = [Case.make(spec), hostile]
    if "D" in spec.dims:
        cases.append(Case.make(spec, dims={**cases[0].dims, "D": 0}))
    return [case.poisoned() for case in cases]


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_it_stays_right(path: Path) -> None:
    cases = calls(path)
    check_stages(cases)
    for form in TRITON:
        module = lower(cases[0], form)
        for case in cases:
            found = interpret(module, case.arrays, case.dims, case.params, choices_of(form))
            case.check("triton", found, narrowed=True)


@pytest.mark.matrix
def test_they_stay_right_in_triton() -> None:
    """In a process of its own: Triton's interpreter is switched on before it is imported."""
    command = [sys.executable, "-m", "tests.differential.interpreted"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["spec"] for each in said] == [path.stem for path in REGRESSIONS]
    assert "".join(each["error"] for each in said) == ""
