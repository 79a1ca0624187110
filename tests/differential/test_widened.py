"""What Numba compiles to widen f16: every number is what NumPy makes of it, however a matrix lies in memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.testing import Case

from .test_compiled import defined, program
from .test_streams import LAYOUTS, laid

HELPERS = ("_compiled", "_has_numba", "_from_f16", "_widen", "_from_many_f16")

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)

SIZES = {"B": 1, "H": 4, "M": 1, "N": 600, "R": 64, "P": 32}
"""Tiles of latents are large enough for a loop, those of rotary keys too."""


@cache
def helpers() -> dict[str, Any]:
    known: dict[str, Any] = {"np": np, "cache": cache}
    exec("".join(PRELUDE[name] for name in HELPERS), known)
    return known


@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("shape", [(256, 256), (2, 128, 256), (128, 2, 256), (2, 1 << 15), (1 << 16,), (8, 8, 1024)])
def test_every_number(shape: tuple[int, ...], how: str) -> None:
    pytest.importorskip("numba")
    numbers = laid(EVERY.reshape(shape), how) if len(shape) > 1 else EVERY
    np.testing.assert_array_equal(helpers()["_from_many_f16"](numbers, 1 << 14), numbers.astype(np.float32))


def test_a_call_widens_by_a_loop(spec_of: Any) -> None:
    pytest.importorskip("numba")
    case = Case.make(spec_of("mla_latent"), "f16", dims=SIZES, seed=1)
    compiled = program(case)
    case.check("numba", compiled.run(case))
    assert defined(compiled)["_widen"].signatures
