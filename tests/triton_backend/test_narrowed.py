"""Which weights multiply as 16-bit numbers: those of which a range is said, however they are computed."""

from __future__ import annotations

from math import inf

import pytest

from attndsl.ir import tile
from attndsl.ir.streams import Stream, Terms
from attndsl.ir.xdsl import SSAValue, arith

from .lowered import lowered, spec_of


def narrowed() -> int:
    """How many products of a causal softmax are made of f16 numbers."""
    module = lowered(spec_of("gqa"), {"T": "f16"})
    products = [op for op in module.walk() if isinstance(op, tile.DotOp)]
    return sum(op.rounded is not None and op.rounded.data == "f16" for op in products)


def test_a_weight_is_narrowed_however_its_shift_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    as_spelled = narrowed()
    assert as_spelled

    def turned(_: Stream, maximum: SSAValue, terms: Terms[SSAValue]) -> SSAValue:
        something = terms.apply(arith.CmpfOp, maximum, terms.number(-inf), "une")
        return terms.apply(arith.SelectOp, something, maximum, terms.number(0.0))

    monkeypatch.setattr(Stream, "shift", turned)
    assert narrowed() == as_spelled
