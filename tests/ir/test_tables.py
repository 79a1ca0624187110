"""One row for each operator in each table: none is missing, and none is left over. A failure names the file to edit."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from attndsl.backends.numpy import pointwise as numpy_pointwise
from attndsl.backends.text import COMPARISON_SIGNS
from attndsl.backends.triton import pointwise as triton_pointwise
from attndsl.backends.triton.helpers import HELPERS
from attndsl.bench.unfused.operators import ON_TENSORS as UNFUSED
from attndsl.checking.check import check
from attndsl.checking.numbers import ON_NUMBERS as NUMBERS
from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import INFIX, LANGUAGE, PYTHON, SELECTS
from attndsl.checking.typed import Kind
from attndsl.gradient.adjoints import ADJOINTS
from attndsl.ir import meaning, sizes, spec
from attndsl.ir.build import OPERATIONS, build
from attndsl.ir.extents import STYLE
from attndsl.ir.xdsl import Operation, arith, math
from attndsl.passes.assign_homes import WRITING
from attndsl.reference.operators import ON_ARRAYS
from attndsl.reference.pointwise_errors import pointwise as errors_of
from attndsl.reference.rounding import Errors, Rounding
from attndsl.storage import WIDE
from attndsl.syntax.source import Source
from attndsl.testing.phrases import PHRASES

ARITHMETIC = Path(__file__).parents[1] / "triton_backend" / "arithmetic.attn"

LAZY = {"and", "or", "bselect", "fselect", "iselect"}
"""Operators that do not evaluate all their operands: those of dims and parameters have a place of their own."""

CURVES = {name: row.curve for name, row in OPERATORS.items() if row.curve is not None}

TABLES: dict[str, tuple[Collection[str], Collection[str]]] = {
    "attndsl/reference/operators.py": (ON_ARRAYS, OPERATORS),
    "attndsl/checking/numbers.py": (NUMBERS, OPERATORS.keys() - LAZY),
    "attndsl/ir/build.py": (OPERATIONS, OPERATORS),
    "attndsl/gradient/adjoints.py": (ADJOINTS, OPERATORS),
    "attndsl/bench/unfused/operators.py": (UNFUSED, OPERATORS.keys() - {"float"}),
}
"""The tables of operators: their rows, and those that they are to have."""

BY_OPERATION: dict[str, Collection[type[Operation]]] = {
    "attndsl/ir/meaning.py": meaning.POINTWISE,
    "backends/numpy/pointwise.py": numpy_pointwise.NUMPY_SPELLINGS,
    "backends/triton/pointwise.py": triton_pointwise.TRITON_SPELLINGS,
}
"""The tables of scalar operations of the IR."""


@pytest.mark.parametrize("file", TABLES)
def test_every_operator_has_a_row_in(file: str) -> None:
    rows, wanted = TABLES[file]
    assert {*wanted} - {*rows} == set(), f"{file} has no row for these"
    assert {*rows} - {*wanted} == set(), f"{file} has a row for these, which are no operators"


def operations_of(operator: str) -> set[type[Operation]]:
    """The scalar operations that the IR has for an operator, of elements that are read."""
    row = OPERATORS[operator]
    types = {Kind.INT: "i64", Kind.FLOAT: "f32", Kind.BOOL: "bool"}
    operands = [f"x{n}[i]" for n in range(len(row.takes))]
    if operator in LAZY and len(operands) == 3:
        applied = "if {} then {} else {}".format(*operands)
    elif row.spelling.endswith("()"):
        applied = f"{row.spelling[:-2]}({', '.join(operands)})"
    else:
        applied = f" {row.spelling} ".join(["", *operands] if len(operands) == 1 else operands)
    result = {Kind.BOOL: f"if {applied} then 1.0 else 0.0", Kind.INT: f"f32({applied})"}.get(row.gives, applied)
    inputs = " ".join(f"input x{n} : {types[kind]}[N]" for n, kind in enumerate(row.takes))
    text = f"attention t {{ dims N {inputs} output o : f32[N] each i in N o[i] = {result} }}"
    return {type(op) for op in build(check(Source(text)), {}).walk() if op.name.split(".")[0] in ("arith", "math")}


@pytest.mark.parametrize("file", BY_OPERATION)
def test_every_operation_that_operators_become_has_a_row_in(file: str) -> None:
    apart = {arith.ConstantOp, arith.CmpiOp, arith.CmpfOp}  # compared by their predicates below
    used = set().union(*map(operations_of, OPERATORS)) - apart
    assert used > {arith.AddfOp, arith.AndIOp, math.FloorOp}
    assert used - {*BY_OPERATION[file]} == set(), f"{file} has no row for these"
    assert {*BY_OPERATION[file]} == {*meaning.POINTWISE}, f"{file} and attndsl/ir/meaning.py have other rows"
    assert {*BY_OPERATION[file]} - used <= {spec.ModOp, arith.ExtFOp}, f"{file} has a row for what no operator becomes"


def test_every_operation_on_integers_is_an_operator_of_the_language() -> None:
    assert sizes.OPERATORS.keys() == {op for op in meaning.POINTWISE if not _is_real(op)}
    assert {*sizes.OPERATORS.values(), *meaning.PREDICATES.values()} <= OPERATORS.keys()
    assert meaning.PREDICATES.keys() == meaning.COMPARISONS.keys()


def _is_real(op: type[Operation]) -> bool:
    return op.name.startswith("math.") or op.name.endswith("f")


def test_every_operator_has_a_sign_or_a_name_in_each_notation() -> None:
    for style in (LANGUAGE, PYTHON, STYLE):
        rows = [style.infix.keys(), style.prefix.keys(), style.called.keys(), {*SELECTS} if style.select else set()]
        named = set().union(*rows)
        assert sum(map(len, rows)) == len(named) and named <= OPERATORS.keys()


def test_every_predicate_is_spelled() -> None:
    assert COMPARISON_SIGNS.keys() == meaning.COMPARISONS.keys()


def test_every_helper_that_is_called_stands_in_its_table() -> None:
    texts = [row.template for row in triton_pointwise.TRITON_SPELLINGS.values()]
    called = {name for text in texts for name in re.findall(r"\b(_\w+)\(", text)}
    assert "_larger" in called
    assert called - HELPERS.keys() == set(), "backends/triton/helpers.py has no row for these"


def test_every_sign_is_printed() -> None:
    signs = {name for name, row in OPERATORS.items() if len(row.takes) == 2 and not row.spelling.endswith("()")}
    integers = {name for name in signs if {*OPERATORS[name].takes, OPERATORS[name].gives} == {Kind.INT}}
    assert INFIX.keys() == signs, "attndsl/checking/spelling.py"
    assert STYLE.infix.keys() == integers, "attndsl/ir/extents.py"


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_errors(operator: str) -> None:
    """Of exact operands: what is rounded is off by a few roundings, what is not is exact."""
    row = OPERATORS[operator]
    values = [np.ones(1, WIDE[kind]) for kind in row.takes]
    found = [Errors(np.ones(1), np.zeros(1)) for _ in values]
    result = np.asarray(ON_ARRAYS[operator](*values))
    (error,) = errors_of(operator, values, found, result, Rounding(unit=2.0**-24)).error
    made = ("fneg", "fabs", "fmin", "fmax", "fselect", "float", "random")
    rounded = row.gives is Kind.FLOAT and operator not in made
    exact = not rounded or (row.curve is not None and row.curve.exact)
    assert error == 0 if exact else 0 < error <= 2.0**-18, "see attndsl/reference/pointwise_errors.py"


@pytest.mark.parametrize("operator", CURVES)
def test_a_curve_runs_as_its_row_says(operator: str) -> None:
    curve = CURVES[operator]
    x = np.linspace(-8, 8, 4001).astype(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        y = ON_ARRAYS[operator](x)
    y, x = y[np.isfinite(y)], x[np.isfinite(y)]
    steps = np.diff(y)
    assert curve.monotone == bool((steps >= 0).all() or (steps <= 0).all())
    if curve.poles:
        assert (
            not curve.monotone and (steps[np.floor(x[1:] / np.pi - 0.5) == np.floor(x[:-1] / np.pi - 0.5)] >= 0).all()
        )
    elif not curve.monotone:
        assert np.abs(y).max() <= 1 and (np.abs(steps) <= np.diff(x) * (1 + 1e-12)).all()
    assert curve.exact == bool((y.astype(np.float32) == y).all())


@pytest.mark.parametrize("operator", CURVES)
def test_a_function_is_drawn_in_specs(operator: str) -> None:
    assert any(f"{operator}(" in text for text in PHRASES["curve"]), (
        f"attndsl/testing/phrases/scores.py has no curve of {operator}()"
    )


@pytest.mark.parametrize("operator", CURVES)
def test_a_function_is_run_by_tritons_interpreter(operator: str) -> None:
    assert f"{operator}(" in ARITHMETIC.read_text(encoding="utf-8"), f"{ARITHMETIC.name} has no {operator}()"


def test_numpy_writes_into_arrays_what_gets_a_home() -> None:
    """What has no such function would be computed and copied."""
    assert [op for op in WRITING if numpy_pointwise.NUMPY_SPELLINGS[op].ufunc is None] == []
