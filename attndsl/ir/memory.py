"""How a kernel of the `tile` level reads and writes tensors, and the places of a tile there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.ir.loop import verify_axis
from attndsl.ir.spec import verify_access
from attndsl.ir.xdsl import (
    ArrayAttr,
    Attribute,
    AttrSizedOperandSegments,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    Pure,
    SSAValue,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    i1,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)


@irdl_op_definition
class PlaceOp(IRDLOperation):
    """An index, as an offset that is the same for a whole tile and one that differs within it.

    The first is the sum of the `shared` integers, each as often as `counts` says. To it adds how far each of `axes` is
    from its start, and the `near` integers, which vary along axes and are small whatever the launch: an address has 64
    bits, but within a tile the launch's index width is enough, and of a loop over keys only the first part changes.
    """

    name = "tile.place"
    counts = prop_def(ArrayAttr[IntegerAttr])
    shared = var_operand_def(IndexType)
    axes = var_operand_def(IndexType)
    near = var_operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$counts `of` `(` $shared `)` `axes` `(` $axes `)` `near` `(` $near `)` attr-dict"

    def __init__(self, shared: Mapping[SSAValue, int], axes: Sequence[SSAValue], near: Sequence[SSAValue]) -> None:
        super().__init__(
            properties={"counts": ArrayAttr([IntegerAttr(count, index) for count in shared.values()])},
            operands=[list(shared), axes, near],
            result_types=[index],
        )

    @property
    def counted(self) -> dict[SSAValue, int]:
        """How often each of the shared integers counts."""
        return {value: count.value.data for value, count in zip(self.shared, self.counts, strict=True)}

    def verify_(self) -> None:
        if len(self.counts) != len(self.shared):
            raise VerifyException("says of each shared integer how often it counts")
        for axis in self.axes:
            verify_axis(axis)


@irdl_op_definition
class LoadOp(IRDLOperation):
    """A tile of a tensor, widened; 0 (or false) where `where` is false, and there no memory is touched.

    `apart`: on a slow path. It is not merged with a load of the fast path, whose tile would then stay in registers.

    A `box` is consecutive along axes of its tensor, and `where` leaves out of it just what lies outside of that. A GPU
    may copy it at once, and keeps no addresses for it; where the strides of a call do not allow that, it is read as
    any other tile.
    """

    name = "tile.load"
    apart = opt_prop_def(UnitAttr)
    box = opt_prop_def(UnitAttr)
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    result = result_def()
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`apart` $apart^)? (`box` $box^)? $tensor `[` $indices `]` (`where` $where^)? attr-dict `:` type($result)"
    )

    def __init__(
        self,
        tensor: SymbolRefAttr,
        indices: Sequence[SSAValue],
        where: SSAValue | None,
        type_: Attribute,
        apart: bool = False,
    ) -> None:
        super().__init__(
            properties={"tensor": tensor, "apart": UnitAttr() if apart else None},
            operands=[indices, where],
            result_types=[type_],
        )

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "input", self.result.type)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes a tile to an output, nothing where `where` is false; rounds, saturates and wraps as `attn.write` does.

    One that `adds` adds the tile to what is there. What it adds `along` are the variables of programs that may meet in
    one element: programs that agree in them do not. With `within`, elements of one tile may meet too. One that is
    `scattered` is written by each thread as it has it: in a kernel whose shared memory has no room to line it up, and
    in a task, whose threads do not wait for each other.

        tile.store @o[%b, %g, %i] = %x adds along (%h) : f32
        tile.store @p[%at] = %x adds within along (%i0) where %in : f32
    """

    name = "tile.store"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    value = operand_def()
    adds = opt_prop_def(UnitAttr)
    within = opt_prop_def(UnitAttr)
    along = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    scattered = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$tensor `[` $indices `]` `=` $value (`adds` $adds^ (`within` $within^)? `along` `(` $along `)`)?"
        " (`scattered` $scattered^)? (`where` $where^)? attr-dict `:` type($value)"
    )

    def __init__(
        self,
        tensor: SymbolRefAttr,
        indices: Sequence[SSAValue],
        value: SSAValue,
        where: SSAValue | None,
        along: Sequence[SSAValue] | None = None,
        within: bool = False,
    ) -> None:
        flags = {"adds": None if along is None else UnitAttr(), "within": UnitAttr() if within else None}
        super().__init__(properties={"tensor": tensor, **flags}, operands=[indices, value, along or [], where])

    @property
    def meets(self) -> bool:
        """Whether two elements of its tiles, of all programs, may be added to one of the tensor."""
        return self.within is not None or len(self.along) > 0

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "output", self.value.type)
        if self.adds is None and self.meets:
            raise VerifyException("what is not added meets nothing")
