"""The gallery, checked and compiled once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.syntax.source import Source
from attndsl.testing import Program, compile_program

EXAMPLES = Path(__file__).parents[2] / "examples"

SpecOf = Callable[[str], Spec]
ProgramOf = Callable[..., Program]


@cache
def _spec(name: str) -> Spec:
    return check(Source((EXAMPLES / f"{name}.attn").read_text(encoding="utf-8"), f"{name}.attn"))


@cache
def _program(name: str, element: str, rows: int, keys: int) -> Program:
    spec = _spec(name)
    types = {variable: element if element in allowed else allowed[0] for variable, allowed in spec.types.items()}
    return compile_program(spec, types, rows, keys)


@pytest.fixture
def spec_of() -> SpecOf:
    """The typed spec of a name of the gallery."""
    return _spec


@pytest.fixture
def program_of() -> ProgramOf:
    """The NumPy program of a name of the gallery, in f32 with tiles of 4 rows and 3 keys where nothing else is said."""

    def program(name: str, element: str = "f32", rows: int = 4, keys: int = 3) -> Program:
        return _program(name, element, rows, keys)

    return program
