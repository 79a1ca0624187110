"""The text of generated Triton files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attndsl.backends.triton.emit import emit
from attndsl.backends.triton.helpers import HELPERS, helpers_text
from attndsl.backends.triton.pointwise import TRITON_SPELLINGS
from attndsl.checking.check import check
from attndsl.driver.compile import compile_spec
from attndsl.ir import meaning
from attndsl.syntax.read import read_source
from attndsl.testing.case import types_with

from .lowered import GALLERY, gallery_module, spec_of

REGRESSIONS = Path(__file__).parents[1] / "differential" / "regressions"

Golden = Callable[[Path, str], None]


@pytest.mark.parametrize("name", ["gqa", "paged_decode", "int4_cache"])
def test_golden(name: str, golden: Golden) -> None:
    text = compile_spec(spec_of(name), types_with(spec_of(name), "f16"), "triton").source
    golden(Path(__file__).parent / "goldens" / f"{name}.triton", text)


@pytest.mark.parametrize("name", GALLERY)
def test_text_is_the_same_each_time_and_reads_well(name: str) -> None:
    spec = spec_of(name)
    module = gallery_module(name, "f16")
    text = emit(module, spec.source.text)
    assert text == emit(module, spec.source.text)
    tree = ast.parse(text)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"torch", "triton", "triton.language"}
    assert f"def {name}(" in text
    assert f"# {name}.attn:" in text
    assert max(len(line) for line in text.splitlines() if not line.lstrip().startswith("#")) <= 125
    # A place in a tile has 32 bits, and so may a stride: one of the two is an INDEX where they are multiplied.
    assert not re.search(r"tl\.arange\(0, \w+\)(\[[^]]*\])? \* \w+\b(?!\.to\(INDEX\))", text)


def test_every_operation_has_a_row() -> None:
    assert TRITON_SPELLINGS.keys() == meaning.POINTWISE.keys()


def test_every_helper_is_called_and_every_call_has_a_helper() -> None:
    called = {name for row in TRITON_SPELLINGS.values() for name in re.findall(r"\b_\w+", row.template)}
    assert HELPERS.keys() == called | {
        "_add",
        "_int32",
        "_from_bf16",
        "_from_f8e4m3",
        "_from_f8e5m2",
        "_nearest",
        "_to_f8",
        "_random",
    }
    for name, text in HELPERS.items():
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)
        assert function.name == name


def test_a_file_has_the_helpers_that_its_kernels_call_and_no_comment_adds_one() -> None:
    text = helpers_text("    # a.attn:7: x = _tanh(y)\n    m = tl.reduce(t, 1, _larger)\n")
    assert re.findall(r"^def (\w+)", text, re.MULTILINE) == ["_larger"]


def test_numbers_of_16_bits_are_compared_with_what_they_can_hold() -> None:
    source = read_source(REGRESSIONS / "rounded_threshold.attn")
    text = compile_spec(check(source), {"T": "f16"}, "triton").source
    assert "(v.to(tl.float32) >= least) & (v.to(tl.float32) != 2.0001)" in text
    assert "(v != 3.0)" in text


def test_parameters_have_the_defaults_of_the_spec() -> None:
    text = emit(gallery_module("qk_norm", "f16"))
    assert "def qk_norm(q, k, v, q_gain, k_gain, o, *, eps=1e-06, schedule=None):" in text


def test_an_output_is_cleared_where_rows_may_leave_elements_of_it() -> None:
    assert "    o.zero_()  # what no program writes is 0" in emit(gallery_module("padding", "f16"))
    assert "zero_" not in emit(gallery_module("gqa", "f16"))
