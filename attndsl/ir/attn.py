"""The `attn` dialect: *what* is computed.

A kernel's body is flat SSA. A value is not one number but a function of the index variables that it depends on
through its operands: `attn.each`, `attn.over` and `attn.axis` introduce such variables, a reduction removes one.
Scalar arithmetic is stock `arith` and `math`. So an index map, a mask or a contraction is plain dataflow, and no type
has to repeat a shape.

    spec.tensor @k "input" "T" ["B", "H", "N", "D"]
    attn.kernel @mha {
      %H = spec.dim "H"
      %h = attn.each "h" to %H
      ...
      %x = attn.read @k[%b, %h, %j, %d] : f32
      %y = arith.mulf %x, %q : f32
      %s = attn.sum %y over %d : f32
      %r = attn.softmax %s, %v over %j where %m : f32
      attn.write @o[%b, %h, %i, %e] = %r : f32
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.reductions import (
    AllOp,
    ArgMaxOp,
    AxisMaxOp,
    AxisMinOp,
    LogSumExpOp,
    MaxOp,
    MinOp,
    ReduceAxisOp,
    ReduceOp,
    SoftmaxOp,
    StreamOp,
    SumOp,
    TopOp,
    TotalOp,
    WeighOp,
)
from attndsl.ir.spec import Float, verify_access
from attndsl.ir.traits import WellFormed
from attndsl.ir.variables import AxisOp, ColumnOp, EachOp, GridOp, IndexOp, OuterOp, OverOp, RowOp, verify_removed
from attndsl.ir.xdsl import (
    ArrayAttr,
    Attribute,
    AttrSizedOperandSegments,
    Block,
    Dialect,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    IsolatedFromAbove,
    NoTerminator,
    Pure,
    Region,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    i1,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)

__all__ = [
    "ATTN", "AllOp", "ArgMaxOp", "AxisMaxOp", "AxisMinOp", "AxisOp", "ColumnOp", "EachOp", "GridOp", "IndexOp",
    "KernelOp", "LogSumExpOp", "MaxOp", "MinOp", "OuterOp", "OverOp", "ReadOp", "ReduceAxisOp", "ReduceOp", "RowOp",
    "ScatterOp", "SoftmaxOp", "StreamOp", "SumOp", "TopOp", "TotalOp", "WeighOp", "WriteOp",
]  # fmt: skip


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One `each … over …` of the spec, or a step of it, computed by one kernel; `schedule` holds what the spec pins.

    `form` tells apart two ways to compute the same outputs, of which a launch takes one: a kernel of the form `whole`
    runs where "SPLITS" is chosen to be 1, and those of the form `split` where it is more. A kernel without a form runs
    always. Kernels run in their order.

    So do `when` and `unless`, by what a call's extents are: of a condition on them, kernels that have it as `when` run
    where it holds, those that have it as `unless` where it does not, and those that have one of each where both say so.

        attn.kernel @k_reassociated when "M * D < N * R" { ... }
        attn.kernel @k unless "M * D < N * R" { ... }

    Kernels that stand `instead of` others run in their place where "FUSED" is chosen to be 1, and else do not. A launch
    that is asked for nothing may choose it.

        attn.kernel @keys_fused instead of [@queries, @keys] { ... }
    """

    name = "attn.kernel"
    entry = prop_def(SymbolNameConstraint())
    form = opt_prop_def(StringAttr)
    when = opt_prop_def(ConditionAttr)
    unless = opt_prop_def(ConditionAttr)
    instead = opt_prop_def(ArrayAttr[SymbolRefAttr])
    schedule = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), IsolatedFromAbove(), WellFormed())
    assembly_format = (
        "$entry (`form` $form^)? (`when` $when^)? (`unless` $unless^)? (`instead` `of` $instead^)? "
        "(`schedule` $schedule^)? $body attr-dict"
    )

    def __init__(self, name: str, schedule: DictionaryAttr | None = None, body: Region | None = None) -> None:
        super().__init__(
            properties={"entry": StringAttr(name), "schedule": schedule}, regions=[body or Region(Block())]
        )

    @property
    def is_deterministic(self) -> bool:
        """Whether it is to give the same bits each time."""
        asked = self.schedule.data.get("deterministic") if self.schedule is not None else None
        return isinstance(asked, IntegerAttr) and asked.value.data != 0


@irdl_op_definition
class ReadOp(IRDLOperation):
    """An element of a tensor, widened; 0 (or false) where `where` is false, and then no memory is touched."""

    name = "attn.read"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    result = result_def()
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$tensor `[` $indices `]` (`where` $where^)? attr-dict `:` type($result)"

    def __init__(self, tensor: str, indices: Sequence[SSAValue], where: SSAValue | None, type_: Attribute) -> None:
        super().__init__(properties={"tensor": SymbolRefAttr(tensor)}, operands=[indices, where], result_types=[type_])

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "input", self.result.type)


@irdl_op_definition
class WriteOp(IRDLOperation):
    """Sets an element of an output, for all values of the variables involved; nothing where `where` is false.

    A float becomes the nearest number of the element type, in one of 8 bits the largest at most; an integer wraps.
    One that `adds` adds to the element instead. What it adds `along` are the variables in which rows may differ that
    meet in one element: rows that agree in them have elements of their own.

        attn.write @o[%b, %g] = %x adds along (%h) : f32
    """

    name = "attn.write"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    value = operand_def()
    adds = opt_prop_def(UnitAttr)
    along = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$tensor `[` $indices `]` `=` $value (`adds` $adds^ `along` `(` $along `)`)? (`where` $where^)? attr-dict"
        " `:` type($value)"
    )

    def __init__(
        self,
        tensor: str,
        indices: Sequence[SSAValue],
        value: SSAValue,
        where: SSAValue | None,
        along: Sequence[SSAValue] | None = None,
    ) -> None:
        super().__init__(
            properties={"tensor": SymbolRefAttr(tensor), "adds": None if along is None else UnitAttr()},
            operands=[indices, value, along or [], where],
        )

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "output", self.value.type)
        if self.adds is None and len(self.along) > 0:
            raise VerifyException("what is not added meets nothing")


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Adds to an element of an output what each row has for each of its keys; nothing where `where` is false.

    What it adds `along` are the variables in which rows may differ that meet in one element, as an attn.write's are. It
    is folded over keys as reductions are, and leaves no state.

        attn.scatter @d_q[%b, %i, %d] = %x over %i along (%j) where %seen : f32
    """

    name = "attn.scatter"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    value = operand_def(Float)
    over = operand_def(IndexType)
    along = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$tensor `[` $indices `]` `=` $value `over` $over (`along` `(` $along^ `)`)? (`where` $where^)? attr-dict"
        " `:` type($value)"
    )

    def __init__(
        self,
        tensor: str,
        indices: Sequence[SSAValue],
        value: SSAValue,
        over: SSAValue,
        along: Sequence[SSAValue],
        where: SSAValue | None,
    ) -> None:
        super().__init__(properties={"tensor": SymbolRefAttr(tensor)}, operands=[indices, value, over, along, where])

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "output", self.value.type)
        verify_removed(self.over, (OverOp,))

    @property
    def states(self) -> tuple[str, ...]:
        """What its states are called: it has none."""
        return ()

    @property
    def identities(self) -> tuple[int | float | bool, ...]:
        """The states of no keys."""
        return ()

    @property
    def folded(self) -> tuple[SSAValue, ...]:
        """What a key brings into the states, but for what is summed."""
        return ()


ATTN = Dialect(
    "attn",
    [
        KernelOp, EachOp, OuterOp, OverOp, AxisOp, GridOp, RowOp, ColumnOp, ReadOp, WriteOp, SumOp, AxisMaxOp,
        AxisMinOp, AllOp, SoftmaxOp, LogSumExpOp, TotalOp, MaxOp, MinOp, ArgMaxOp, StreamOp, TopOp, ScatterOp,
    ],
)  # fmt: skip
