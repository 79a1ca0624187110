"""Which weights multiply as 16-bit numbers: those of which a range is said, however they are computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attndsl.ir import attn, tile
from attndsl.ir.xdsl import Operation, SSAValue, arith

from .lowered import lowered, spec_of


def narrowed() -> int:
    """How many products of a causal softmax are made of f16 numbers."""
    module = lowered(spec_of("gqa"), {"T": "f16"})
    products = [op for op in module.walk() if isinstance(op, tile.DotOp)]
    return sum(op.rounded is not None and op.rounded.data == "f16" for op in products)


def test_a_weight_is_narrowed_however_its_shift_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    as_spelled = narrowed()
    assert as_spelled

    def turned(maximum: SSAValue, lowest: SSAValue, zero: SSAValue, add: Callable[[Operation], SSAValue]) -> SSAValue:
        something = add(arith.CmpfOp(maximum, lowest, "une"))
        return add(arith.SelectOp(something, maximum, zero))

    monkeypatch.setattr(attn, "finite_shift", turned)
    assert narrowed() == as_spelled
