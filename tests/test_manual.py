"""Every example of the manual and every recipe is checked and run, and the manual's tables say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking.calls import REDUCTIONS
from attndsl.checking.check import check
from attndsl.checking.declarations import SETTINGS
from attndsl.checking.graph import MAX_DEPTH as EXPANDED_DEPTH
from attndsl.checking.graph import MAX_EXPRESSIONS
from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import FLOAT_TYPES, STORAGE_KINDS, Kind
from attndsl.reference import reference
from attndsl.storage import ELEMENTS, as_stored, decode
from attndsl.syntax import tree
from attndsl.syntax.format import format_text
from attndsl.syntax.parse import MAX_DEPTH, parse, tokens
from attndsl.syntax.source import MAX_BYTES, Source

DOCS = Path(__file__).parents[1] / "docs"
MANUAL, RECIPES = ((DOCS / name).read_text(encoding="utf-8") for name in ("language.md", "recipes.md"))


@dataclass(frozen=True)
class Example:
    """A spec of the manual, and the values that are said to come of it (empty where none are)."""

    text: str
    values: str

    @property
    def name(self) -> str:
        match = re.search(r"attention (\w+)", self.text)
        assert match is not None
        return match[1]


EXAMPLES = [
    Example(text, values or "")
    for text, values in re.findall(
        r"^```attn\n(.*?)^```\n(?:\n```values\n(.*?)^```\n)?", MANUAL + RECIPES, re.DOTALL | re.MULTILINE
    )
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_is_checked_and_formatted(example: Example) -> None:
    check(Source(example.text))
    assert format_text(Source(example.text)) == example.text


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.values], ids=lambda example: example.name)
def test_example_gives_the_values_it_states(example: Example) -> None:
    spec = check(Source(example.text))
    stated = [line.split("=") for line in example.values.splitlines()]
    values, left = ({name.strip(): _value(value, side) for name, value in stated} for side in (0, -1))
    told = (tensor for tensor in spec.arguments if tensor.default is None)
    assert set(values) == {tensor.name for tensor in told}
    inputs = {t.name: np.array(values[t.name], _dtype(t.element)) for t in spec.inputs if t.name in values}
    outputs = reference(spec, inputs, {})
    compiled = attndsl.compile(example.text)(**inputs)
    for tensor in spec.results:
        made: Any = compiled if len(spec.outputs) == 1 else getattr(compiled, tensor.name, None)
        got = decode(inputs.get(tensor.name, made), tensor.element)
        np.testing.assert_allclose(got, left[tensor.name], rtol=1e-5, atol=1e-6, err_msg=tensor.name)
        held = outputs[tensor.name]
        if held.dtype.kind != "f" or spec.kind(tensor) is not Kind.FLOAT:
            held = decode(as_stored(held, tensor.element), tensor.element)
        np.testing.assert_allclose(held, left[tensor.name], rtol=1e-7, err_msg=tensor.name)


def test_the_triton_program_runs_in_its_interpreter(tmp_path: Path) -> None:
    section = RECIPES.split("\n## Triton without a GPU\n")[1]
    command, program = (
        re.findall(rf"^```{kind}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[0] for kind in ("console", "python")
    )
    asked, told = command.splitlines()
    done = subprocess.run(
        [sys.executable, "-m", *asked.split()[1:]], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == told
    (tmp_path / "run.py").write_text(program)
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, check=True)


def _value(text: str, side: int) -> Any:
    """What stands for a tensor: before the call, or after it."""
    return eval(text.split("->")[side], {"inf": float("inf"), "nan": float("nan")})


def _dtype(element: str) -> np.dtype[np.generic]:
    assert ELEMENTS[element].layout is None
    return ELEMENTS[element].dtype


def test_most_examples_state_values() -> None:
    assert len(EXAMPLES) >= 12
    assert sum(1 for example in EXAMPLES if example.values) >= 9


def _rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    section = MANUAL.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    table = lines[2 : next((n for n, line in enumerate(lines[2:], 2) if "---" in line), len(lines) + 1)]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def test_the_operators_are_those_of_the_table() -> None:
    stated = {
        (spelling, signature)
        for spellings, signatures, _ in _rows("Operators")
        for spelling, signature in product(re.findall(r"`([^`]+)`", spellings), signatures.split(", "))
    }
    known = {
        (op.spelling, f"{' '.join(kind.value for kind in op.takes)} → {op.gives.value}") for op in OPERATORS.values()
    }
    assert stated == known


def test_the_element_types_are_those_of_the_table() -> None:
    stated = {
        element: Kind(kind)
        for elements, kind in _rows("Kinds and element types")
        for element in re.findall(r"`([^`]+)`", elements)
    }
    assert stated == STORAGE_KINDS
    assert f"`types T` is any of `{' '.join(FLOAT_TYPES)}`" in MANUAL


def test_the_reserved_words_are_the_grammars() -> None:
    stated = re.search(r"- Reserved: (.*?)\.\n", MANUAL, re.DOTALL)
    assert stated is not None
    for word in re.findall(r"`(\w+)`", stated[1]):
        (token,) = tokens(Source(word))
        assert token.type != "NAME", f"{word} is no keyword"
    grammar = (Path(__file__).parents[1] / "attndsl" / "syntax" / "grammar.lark").read_text(encoding="utf-8")
    assert set(re.findall(r'"([a-z]+)"', grammar)) == set(re.findall(r"`(\w+)`", stated[1]))


def test_the_reductions_are_the_checkers() -> None:
    assert {row[0].strip("`").partition("(")[0] for row in _rows("Reductions")} == set(REDUCTIONS)


def test_the_levels_are_the_grammars() -> None:
    """Of two neighbouring levels of the table, the lower binds tighter, whichever of the two stands first."""
    levels = [re.findall(r"`([^`]+)`", row[0]) for row in _rows("Expressions")]
    binary = [level for level in levels if len(level[0]) <= 3 and level[0] not in ("not", "-x")]
    assert ["or"] in binary and ["."] in binary and len(binary) == 10
    for loose, tight in pairwise(binary):
        for a, b in product(loose, tight):
            assert _operator(f"x {a} y {b} z") == a
            assert _operator(f"x {b} y {a} z") == a
    for level in binary:
        if level[0] != "==":
            assert all(_groups_left(f"x {a} y {b} z") for a, b in product(level, level))
    assert _operator("not x == y") == "not"
    assert _operator("not x and y") == "and"
    assert _operator("-x . y") == "-"
    assert _operator("-x * y") == "*"


def _expression(text: str) -> tree.Expression:
    (statement,) = parse(Source(f"attention a {{ let r = {text} }}")).statements
    assert isinstance(statement, tree.Let)
    return statement.value


def _operator(text: str) -> str:
    """The operator that is applied last."""
    match _expression(text):
        case tree.Binary(operator=operator) | tree.Unary(operator=operator):
            return operator
        case tree.Comparison(operators=(operator, *_)):
            return operator
        case other:
            raise AssertionError(other)


def _groups_left(text: str) -> bool:
    expression = _expression(text)
    return isinstance(expression, tree.Binary) and isinstance(expression.left, tree.Binary)


def test_the_limits_are_the_codes() -> None:
    assert f"{MAX_BYTES // 1024} KiB" in MANUAL
    assert f"at most {MAX_DEPTH} deep as written and {EXPANDED_DEPTH} deep" in MANUAL
    assert f"at most {MAX_EXPRESSIONS // 1000} 000 different ones" in MANUAL


def test_the_settings_are_the_checkers() -> None:
    assert tuple(row[0].strip("`") for row in _rows("Schedule")) == SETTINGS


def test_links_lead_to_headings() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", MANUAL, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", MANUAL)) <= headings
