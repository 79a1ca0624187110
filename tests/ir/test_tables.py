"""One row for each operation in each table: none is missing, and none is left over."""

from __future__ import annotations

from attndsl.backends.numpy import pointwise as numpy_pointwise
from attndsl.backends.triton import pointwise as triton_pointwise
from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import LANGUAGE, PYTHON, SELECTS
from attndsl.ir import meaning, sizes
from attndsl.ir.build import OPERATIONS
from attndsl.ir.extents import STYLE
from attndsl.ir.xdsl import Operation
from attndsl.reference.operators import MEANINGS

LAZY = {"and", "or", "bselect", "fselect", "iselect"}
"""Operators that do not evaluate all their operands: the reference has its own place for these."""


def test_every_operator_has_a_meaning_and_an_operation() -> None:
    assert OPERATIONS.keys() == OPERATORS.keys()
    assert OPERATORS.keys() >= MEANINGS.keys() >= OPERATORS.keys() - LAZY


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


def test_every_operation_is_spelled_in_both_targets() -> None:
    for target in (numpy_pointwise, triton_pointwise):
        assert target.POINTWISE.keys() == meaning.POINTWISE.keys()
        assert target.COMPARISONS.keys() == meaning.COMPARISONS.keys()
