"""One row for each operation in each table: none is missing, and none is left over."""

from __future__ import annotations

from attndsl.backends.numpy import pointwise as numpy_pointwise
from attndsl.backends.triton import pointwise as triton_pointwise
from attndsl.checking.operators import OPERATORS
from attndsl.ir import meaning
from attndsl.ir.build import OPERATIONS
from attndsl.reference.operators import MEANINGS

LAZY = {"and", "or", "bselect", "fselect", "iselect"}
"""Operators that do not evaluate all their operands: the reference has its own place for these."""


def test_every_operator_has_a_meaning_and_an_operation() -> None:
    assert OPERATIONS.keys() == OPERATORS.keys()
    assert OPERATORS.keys() >= MEANINGS.keys() >= OPERATORS.keys() - LAZY


def test_every_operation_is_spelled_in_both_targets() -> None:
    for target in (numpy_pointwise, triton_pointwise):
        assert target.POINTWISE.keys() == meaning.POINTWISE.keys()
        assert target.COMPARISONS.keys() == meaning.COMPARISONS.keys()
