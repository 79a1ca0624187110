"""Ints are 64 bits, two's complement, wherever they are computed: the reference, the IR, NumPy, Triton's interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.testing.stages import check_stages, compile_program

from .integers import SOURCES, calls, spec_of, wanted


@pytest.mark.parametrize("source", SOURCES)
def test_ints_wrap(source: str) -> None:
    spec = spec_of(source)
    program = compile_program(spec, {})
    for case in calls(source, spec, 6):
        expected = wanted(source, case)
        outputs = program.run(case)
        for name, array in expected.items():
            np.testing.assert_array_equal(case.wanted[name], array, f"the reference's {name}, {case.params}")
            np.testing.assert_array_equal(outputs[name], array, f"{name}, {case.params}")


@pytest.mark.parametrize("source", ["parameter and element", "index and large number"])
def test_no_pass_changes_a_bit(source: str) -> None:
    check_stages(calls(source, spec_of(source), 2))
