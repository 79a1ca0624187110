"""Where tiles live: memory that a kernel sets aside, and which tile is written into it.

A tile that has no home is a value, and where it is kept is nobody's decision. A home is one: it is the buffer that a
CPU writes into instead of asking for memory, and the ring that a GPU copies into while it computes.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.xdsl import (
    Attribute,
    AttrSizedOperandSegments,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    Operation,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)


@irdl_op_definition
class HomeOp(IRDLOperation):
    """Memory for tiles of one element type, with an axis of each of `sizes`; with `stages`, for so many at a time.

    Each program has its own, and it holds nothing before `tile.into` puts a tile there.
    """

    name = "tile.home"
    sym_name = prop_def(SymbolNameConstraint())
    sizes = var_operand_def(IndexType)
    stages = opt_prop_def(IntegerAttr)
    element = prop_def(Attribute)
    assembly_format = "$sym_name `(` $sizes `)` (`stages` $stages^)? `:` $element attr-dict"

    def __init__(self, name: str, sizes: Sequence[SSAValue], element: Attribute, stages: int | None = None) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "element": element,
                "stages": None if stages is None else IntegerAttr(stages, index),
            },
            operands=[sizes],
        )

    def verify_(self) -> None:
        if self.stages is not None and self.stages.value.data < 1:
            raise VerifyException("has a stage at least")


@irdl_op_definition
class IntoOp(IRDLOperation):
    """Says that the operation before it writes its tile into a home, whose axes are the `axes`, in this order.

    A tile that an axis cuts short fills a part of it. A tile lives in its home, in one `stage` of one that
    has stages, until another is written there, and then nothing may read it any more; a loop that carries it leaves it
    where it is. An elementwise operation may write over an operand that has the same axes, no other over what it reads.

    Most tiles are made by `arith` and `math`, which have no property of ours; hence a statement.
    """

    name = "tile.into"
    home = prop_def(SymbolRefAttr)
    axes = var_operand_def(IndexType)
    stage = opt_operand_def(IndexType)
    value = operand_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$home `[` $axes `]` (`stage` $stage^)? `=` $value attr-dict `:` type($value)"

    def __init__(self, home: str, axes: Sequence[SSAValue], value: SSAValue, stage: SSAValue | None = None) -> None:
        super().__init__(properties={"home": SymbolRefAttr(home)}, operands=[axes, stage, value])

    @property
    def maker(self) -> Operation:
        """The operation that makes the tile."""
        assert isinstance(self.value.owner, Operation)
        return self.value.owner

    @property
    def declaration(self) -> HomeOp:
        """The home; raises VerifyException where the kernel has none of that name, or several."""
        kernel: Operation = self
        while (parent := kernel.parent_op()) is not None and parent.name != "builtin.module":
            kernel = parent
        name = self.home.string_value()
        homes = [op for region in kernel.regions for op in region.ops if type(op) is HomeOp]
        found = [op for op in homes if op.sym_name.data == name]
        if len(found) != 1:
            raise VerifyException(f"{'no home is' if not found else 'several homes are'} called @{name}")
        return found[0]

    def verify_(self) -> None:
        element = self.declaration.element
        if self.value.type != element:
            raise VerifyException(f"@{self.home.string_value()} is a home of {element}, not of {self.value.type}")


def into_of(value: SSAValue) -> IntoOp | None:
    """The statement that says where a tile lives, None where it is a value."""
    for use in value.uses:
        op = use.operation
        if type(op) is IntoOp and op.value is value:  # others name it as an axis
            return op
    return None
