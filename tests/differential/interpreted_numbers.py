"""Runs the edges of numbers in Triton's interpreter: one JSON line a spec. Its own process, as Triton wants."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from attndsl.testing.triton_program import TritonProgram, prepare

DEVICE = prepare()

import numpy as np  # noqa: E402

from attndsl.testing import Case  # noqa: E402
from attndsl.testing.stages import Form, lower  # noqa: E402

from . import integers, key_ends  # noqa: E402
from .test_reals import SCALED, TENTH, spec_of  # noqa: E402

FORM = Form("triton", rows=4, keys=4)


def ints(source: str) -> None:
    """Every operator on ints of one source."""
    spec = integers.spec_of(source)
    cases = list(integers.calls(source, spec, 2))
    program = TritonProgram.of(cases[0], lower(cases[0], FORM), DEVICE)
    for case in cases:
        outputs = program.run(case)
        for name, array in integers.wanted(source, case).items():
            np.testing.assert_array_equal(outputs[name], array, name)


def ends(name: str) -> None:
    """Keys that end where data of 64 bits say."""
    spec = key_ends.spec_of(name, "i64")
    cases = list(key_ends.calls(spec, "i64"))
    program = TritonProgram.of(cases[0], lower(cases[0], FORM), DEVICE)
    for number, case in enumerate(cases):
        case.check("triton", program.run(case, 1 + number % 2))


def reals(given: float) -> None:
    """A parameter of f32 in a kernel of f64."""
    case = Case(spec_of(SCALED), {}, {"N": 2}, {"scale": given}, {"x": np.ones(2)})
    program = TritonProgram.of(case, lower(case, FORM), DEVICE)
    assert program.run(case)["o"].tolist() == [TENTH, TENTH]


FIRST = ("parameter and element", "bytes", "of bytes", "index and large number", "from data to a row", "large numbers")
"""The first part, which tells most; all others are the second."""


def main(part: int) -> None:
    """One part of what there is."""
    checks: list[tuple[Callable[..., None], Any]] = [(ints, source) for source in integers.SOURCES]
    checks += [(ends, name) for name in key_ends.SUMS]
    checks = [(check, what) for check, what in checks if (what in FIRST) == (part == 0)]
    for check, what in [*checks, (reals, 0.1)]:
        error = ""
        try:
            check(what)
        except Exception:
            error = f"{what}: {traceback.format_exc()}"
        print(json.dumps({"spec": what, "error": error}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
