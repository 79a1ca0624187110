"""Ints have 64 bits wherever they are computed: in the reference, the IR, NumPy, Triton's interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing.case import Case
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


COUNTED = """attention counted {
    dims B, H, G, M
    input  x : f32[B, M, H]
    input  y : f32[B, G]
    input  a : i32[B]
    input  c : i32[B]
    output o : f32[B, M, H]
    require H % G == 0
    each b in B, h in H, i in a[b] * c[b]
    o[b, i, h] = x[b, i, h] * y[b, h / (H / G)]
}
"""


def test_rows_that_are_counted_far_below_0_are_none() -> None:
    """Three heads share a value, and rows: three times the least product of two counts leaves 64 bits."""
    spec = check(Source(COUNTED, "counted.attn"))
    case = Case.make(spec, "f32", 0, {"B": 2, "H": 3, "G": 1, "M": 4})
    case.arrays["a"][:] = -(2**31), 2
    case.arrays["c"][:] = 2**31 - 1, 1
    found = compile_program(spec, {}).run(case)["o"]
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_array_equal(found[1, 2:], 0)
    np.testing.assert_allclose(found[1, :2], case.arrays["x"][1, :2] * case.arrays["y"][1, 0], rtol=1e-6)


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
