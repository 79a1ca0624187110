"""How many heads rows of a box have beside one another: an operation of the `tile` dialect (`attndsl.ir.tile`)."""

from __future__ import annotations

from math import gcd

from attndsl.ir.xdsl import (
    IndexType,
    IntegerAttr,
    IRDLOperation,
    Pure,
    SSAValue,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)


@irdl_op_definition
class PackOp(IRDLOperation):
    """How many of `count` heads stand beside one another, so that so many `rows` are a box: the most that divide both.

    All of them where they are a multiple of the rows: then these are of a single place. One at least.
    """

    name = "tile.pack"
    count = operand_def(IndexType)
    rows = prop_def(IntegerAttr[IndexType])
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$count `in` $rows attr-dict"

    def __init__(self, count: SSAValue, rows: int) -> None:
        super().__init__(operands=[count], properties={"rows": IntegerAttr(rows, index)}, result_types=[index])

    def verify_(self) -> None:
        if self.rows.value.data < 1:
            raise VerifyException("has a row at least")


def packed(count: int, rows: int) -> int:
    """What `tile.pack` gives for so many heads."""
    return gcd(count, rows) if count % rows else max(1, count)
