"""What has been verified once is not again, but where it is another operation after all."""

from __future__ import annotations

import pytest

from attndsl.ir.rewrite import constant_op
from attndsl.ir.verified import verify
from attndsl.ir.xdsl import ModuleOp, StringAttr, VerifyException, arith, f32, f64


def sum_in_a_module() -> tuple[ModuleOp, arith.AddfOp]:
    """A sum that is sound, with something behind it, so that it does not end its block."""
    number = constant_op(1.0, f32)
    total = arith.AddfOp(number, number)
    return ModuleOp([number, total, constant_op(2.0, f32)]), total


def test_what_is_alike_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[arith.AddfOp] = []

    def look(op: arith.AddfOp) -> None:
        looked.append(op)

    monkeypatch.setattr(arith.AddfOp, "verify_", look)
    for _ in range(3):
        module, total = sum_in_a_module()
        total.attributes["of"] = StringAttr("test_what_is_alike_is_not_looked_at_again")
        verify(module)
    assert len(looked) == 1


def test_what_is_unlike_is_looked_at() -> None:
    verify(sum_in_a_module()[0])
    module, total = sum_in_a_module()
    total.results[0]._type = f64  # as no rewrite should leave it
    with pytest.raises(VerifyException):
        verify(module)
    module, total = sum_in_a_module()
    total.properties["of"] = StringAttr("nobody")
    with pytest.raises(VerifyException, match="property 'of' is not defined"):
        verify(module)


def test_a_value_that_is_no_more_is_found() -> None:
    verify(sum_in_a_module()[0])
    module, total = sum_in_a_module()
    total.operands[0].erase(safe_erase=False)
    with pytest.raises(ValueError, match="Erased SSA value"):
        verify(module)


def test_an_operation_knows_its_block() -> None:
    module, total = sum_in_a_module()
    total.parent = None
    with pytest.raises(ValueError, match="a block that is not its own"):
        verify(module)
