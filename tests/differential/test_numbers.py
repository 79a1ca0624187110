"""Ints have 64 bits wherever they are computed: in the reference, the IR, NumPy, Triton's interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attndsl.testing.stages import check_stages, compile_program

from . import integers, key_ends


@pytest.mark.parametrize("source", integers.SOURCES)
def test_ints_wrap(source: str) -> None:
    spec = integers.spec_of(source)
    program = compile_program(spec, {})
    for case in integers.calls(source, spec, 2):
        outputs = program.run(case)
        for name, array in integers.wanted(source, case).items():
            np.testing.assert_array_equal(case.wanted[name], array, f"the reference's {name}, {case.params}")
            np.testing.assert_array_equal(outputs[name], array, f"{name}, {case.params}")


@pytest.mark.parametrize("source", ["index and large number"])
def test_no_pass_changes_an_int(source: str) -> None:
    check_stages(integers.calls(source, integers.spec_of(source), 1))


@pytest.mark.parametrize("name", key_ends.SUMS)
def test_keys_end_where_data_of_any_size_say(name: str) -> None:
    spec = key_ends.spec_of(name, "i64")
    check_stages(key_ends.calls(spec, "i64"))


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.matrix)])
def test_triton_computes_the_same_numbers(part: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.differential.interpreted_numbers", str(part)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 3
    assert "".join(line["error"] for line in lines) == ""
