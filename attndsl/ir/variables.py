"""The operations of the `attn` dialect that introduce index variables."""

from __future__ import annotations

from attndsl.ir.traits import Binds
from attndsl.ir.xdsl import (
    AttrSizedOperandSegments,
    IndexType,
    IRDLOperation,
    Pure,
    SSAValue,
    StringAttr,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)


class IndexOp(IRDLOperation):
    """An index variable: it takes the values 0 … extent - 1.

    The extent of `each` and `over` variables may read tensors; `bound`, where it is given, is no smaller and does not.
    """

    variable = prop_def(StringAttr)
    extent = operand_def(IndexType)
    bound = opt_operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Binds())
    assembly_format = "$variable `to` $extent (`up` `to` $bound^)? attr-dict"

    def __init__(self, variable: str, extent: SSAValue, bound: SSAValue | None = None) -> None:
        super().__init__(properties={"variable": StringAttr(variable)}, operands=[extent, bound], result_types=[index])


@irdl_op_definition
class EachOp(IndexOp):
    """A variable that tells rows apart."""

    name = "attn.each"


@irdl_op_definition
class OuterOp(IndexOp):
    """The outer of two variables that tell the key positions of a row apart; an `attn.over` stands within it.

    Its extent is the same for all rows.
    """

    name = "attn.outer"


@irdl_op_definition
class OverOp(IndexOp):
    """The variable that tells the key positions of a row apart. A kernel has at most one.

    It takes the values start … extent - 1, 0 … where there is no start. Both may depend on the row. With `within %t` a
    position is a value of both: each reduction over the variable is one over all pairs of them.

        %t = attn.outer "t" to %group
        %i = attn.over "i" from %j to %M within %t

    With `split %p of %n` this range is split into n contiguous ones, some of them perhaps empty, and it takes the
    values of number p. Where the splits are is left open, but they are the same for all that is reduced over the
    variable.
    """

    name = "attn.over"
    extent = operand_def(IndexType)
    bound = opt_operand_def(IndexType)
    start = opt_operand_def(IndexType)
    split = opt_operand_def(IndexType)
    splits = opt_operand_def(IndexType)
    within = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$variable (`from` $start^)? `to` $extent (`up` `to` $bound^)? (`split` $split^ `of` $splits)?"
        " (`within` $within^)? attr-dict"
    )

    def __init__(
        self,
        variable: str,
        extent: SSAValue,
        bound: SSAValue | None = None,
        start: SSAValue | None = None,
        split: SSAValue | None = None,
        splits: SSAValue | None = None,
        within: SSAValue | None = None,
    ) -> None:
        IRDLOperation.__init__(
            self,
            properties={"variable": StringAttr(variable)},
            operands=[extent, bound, start, split, splits, within],
            result_types=[index],
        )

    def verify_(self) -> None:
        if (self.split is None) != (self.splits is None):
            raise VerifyException("`split` and `of` are given together or not at all")
        if self.within is not None and not isinstance(self.within.owner, OuterOp):
            raise VerifyException("stands within a value that is no attn.outer")


@irdl_op_definition
class AxisOp(IndexOp):
    """A feature variable: contracted, or an axis of an output."""

    name = "attn.axis"


@irdl_op_definition
class GridOp(IndexOp):
    """A variable that tells rows apart whose keys differ: each of its values is another program's work."""

    name = "attn.grid"


@irdl_op_definition
class RowOp(IndexOp):
    """A variable that tells rows apart whose keys are the same: they share tiles. The first one varies slowest."""

    name = "attn.row"


@irdl_op_definition
class ColumnOp(IndexOp):
    """A variable that is an axis of its own in the tiles of the other rows, which are multiplied with it.

    So it tells rows apart as a feature variable would, but has tiles of its own: a program has some of its values. A
    kernel has at most one.
    """

    name = "attn.column"


def verify_removed(variable: SSAValue, kinds: tuple[type[IndexOp], ...]) -> None:
    """Raises VerifyException where what a reduction removes is no index variable of one of `kinds`."""
    if not isinstance(variable.owner, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise VerifyException(f"reduces over a value that is no {names}")
