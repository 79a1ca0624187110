"""What masks cost nothing with: a part of a tile's keys that is masked by itself, and a check in a tile's place."""

from __future__ import annotations

from attndsl.ir.loop import RangeOp, verify_axis
from attndsl.ir.spec import Float
from attndsl.ir.traits import Axes, Removes, Variables
from attndsl.ir.xdsl import (
    IndexType,
    IRDLOperation,
    Pure,
    SSAValue,
    VerifyException,
    i1,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)


@irdl_op_definition
class MaskOp(IRDLOperation):
    """A tile along the axis `whole`, with `fill` in the place of what `where` hides: at the keys of the axis `over`.

    Those are some of the keys of `whole`, a part of the tile; `where` is a condition on them, and the others stay. So
    of a tile that a causal mask cuts through, the keys before the first row's end are neither tested nor written:

        %j = tile.range "j" from %j0 to %j_end size %keys
        %s = tile.dot %q, %k over %d : f32
        %from = arith.maxsi %j0, %full_stop : index
        %length = arith.subi %j_end, %from : index
        %edge = tile.range "j" from %from to %j_end size %length
        %hidden = arith.cmpi sle, %row_stop, %edge : index
        %score = tile.mask %s along %j with %low where %hidden over %edge : f32
    """

    name = "tile.mask"
    value = operand_def(Float)
    whole = operand_def(IndexType)
    fill = operand_def(Float)
    where = operand_def(i1)
    over = operand_def(IndexType)
    result = result_def(Float)
    traits = traits_def(Pure(), Removes())
    assembly_format = "$value `along` $whole `with` $fill `where` $where `over` $over attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, whole: SSAValue, fill: SSAValue, where: SSAValue, over: SSAValue) -> None:
        super().__init__(operands=[value, whole, fill, where, over], result_types=[value.type])

    def verify_(self) -> None:
        for axis in (self.whole, self.over):
            verify_axis(axis)
        names = {axis.owner.variable for axis in (self.whole, self.over) if isinstance(axis.owner, RangeOp)}
        if len(names) > 1:
            raise VerifyException("masks keys of the axis that its tile varies along")


class Collapses(Variables):
    """That the result has no axes, whatever the operands have."""

    def rests_on(self, op: IRDLOperation, result: SSAValue) -> tuple[SSAValue, ...]:
        return ()

    def axes(self, op: IRDLOperation, result: SSAValue, merged: Axes) -> Axes:
        return frozenset()


@irdl_op_definition
class FiniteOp(IRDLOperation):
    """Whether all numbers of a tile are finite: what tells a guess that was right from one that was not."""

    name = "tile.finite"
    value = operand_def(Float)
    result = result_def(i1)
    traits = traits_def(Pure(), Collapses())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[i1])
