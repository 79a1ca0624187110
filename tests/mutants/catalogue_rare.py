"""Mutants of what few drawn specs have work for: each is shown by a spec of the gallery, or its gradient."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.backends.numpy import prelude
from attndsl.ir import attn
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.xdsl import ModuleOp, arith
from attndsl.passes import gather_factors, tabulate_distances

from .mutant import every, planted, rewords, spoils, wraps


@planted("triton", "gather-factors")
def factors_multiplied_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the factors that are made of the same contractions the first is multiplied once more."""

    def twice(original: Any, *given: Any) -> Any:
        return [[*group, group[0]] if len(group) > 1 else group for group in original(*given)]

    wraps(monkeypatch, gather_factors, "_by_group", twice)


@spoils("triton", "tabulate-distances")
def numbers_of_the_distance_before(module: ModuleOp) -> None:
    """Each pair reads what a table has of a distance less."""
    for op in every(module, attn.ReadOp):
        if op.tensor.string_value().endswith("_by_distance"):
            one = insert_before(op, index_constant(1))
            op.operands[len(op.indices) - 1] = insert_before(op, arith.SubiOp(op.indices[-1], one))


@planted("triton", "tabulate-distances")
def told_by_more_than_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a row and a key are told apart by themselves, their distance is taken for both."""
    monkeypatch.setattr(tabulate_distances._Pair, "_is_difference", lambda pair, polynomial: True)


@planted("numpy", "numpy")
def few_beside_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few rows that a loop multiplies four at a time, those that are left are multiplied with the first."""
    rewords(
        monkeypatch,
        prelude.PRELUDE,
        "_row_products",
        "* few[i, x]\n            out[j, i] = a",
        "* few[0, x]\n            out[j, i] = a",
    )
