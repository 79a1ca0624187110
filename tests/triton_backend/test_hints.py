"""A name hint of an SSA value means nothing: with none at all, programs are made, and compute the same."""

from __future__ import annotations

import ast

import pytest

from attndsl.backends.triton.emit import emit
from attndsl.testing import Case
from attndsl.testing.case import types_with
from attndsl.testing.stages import program_of

from .lowered import GALLERY, gallery_module, lowered_without_hints, spec_of
from .test_interpreter import check

MOST = [pytest.param(name, marks=[pytest.mark.matrix] if place % 3 else []) for place, name in enumerate(GALLERY)]
"""Every spec of the gallery; two of three are left to the matrix."""


@pytest.mark.parametrize("name", MOST)
def test_numpy_without_hints_agrees_with_the_reference(name: str) -> None:
    case = Case.make(spec_of(name), seed=6).poisoned()
    module = lowered_without_hints(case.spec, case.types, rows=4, keys=3, target="numpy")
    case.check("numpy", program_of(case.spec, module).run(case))


def arguments(text: str) -> dict[str, int]:
    """How many arguments each function of a file takes."""
    return {each.name: len(each.args.args) for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("name", MOST)
def test_triton_without_hints_takes_the_same_arguments(name: str) -> None:
    """As many sizes of tiles, say: what told them apart was a hint once."""
    spec = spec_of(name)
    bare = emit(lowered_without_hints(spec, types_with(spec, "f16"), rows=16, keys=16))
    compile(bare, name, "exec")
    assert arguments(bare) == arguments(emit(gallery_module(name, "f16")))


def test_triton_without_hints_agrees_with_the_reference() -> None:
    check(1, "gqa", "mla_paged", "sinks", options=["--without-hints"])
