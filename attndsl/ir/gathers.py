"""Tiles of a ring whose keys lie apart: each piece of one is a box of its own, and data may say where it lies.

    roles.ring @k_ring of @k_pages along [1, 3] sizes [128, 128] pieces 64 nan stages 2 readers 2
    ...
    roles.gather @k_ring[%stage] from %j0 starts {
    ^bb0(%j : index):
      %block = arith.floordivsi %j, %S : index
      %page = tile.load @table[%b, %block] : index
      %slot = spec.mod %j, %S
      roles.starts %page, %slot, %h, %zero
    }

The pieces land in their order, one behind the other, and a stage holds what it holds of a tile that lies in one box.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.roles import StageOp
from attndsl.ir.xdsl import (
    Block,
    IndexType,
    IRDLOperation,
    IsTerminator,
    Region,
    SSAValue,
    SymbolRefAttr,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
)


@irdl_op_definition
class GatherOp(StageOp):
    """Begins to copy a tile of keys, the first of them `first`, into a stage of a ring that has pieces.

    `starts` says for the first key of a piece where its box begins, a place of each axis of the tensor.
    """

    name = "roles.gather"
    first = operand_def(IndexType)
    starts = region_def("single_block")
    assembly_format = "$ring `[` $stage `]` `from` $first `starts` $starts attr-dict"

    def __init__(self, ring: str, stage: SSAValue, first: SSAValue) -> None:
        super().__init__(
            properties={"ring": SymbolRefAttr(ring)},
            operands=[first, stage],
            regions=[Region(Block(arg_types=[index]))],
        )

    @property
    def start(self) -> Sequence[SSAValue]:
        """Where the box of a piece begins."""
        assert isinstance(self.starts.block.last_op, StartsOp)
        return tuple(self.starts.block.last_op.places)

    def verify_(self) -> None:
        super().verify_()
        ring, block = self.declaration, self.starts.block
        if ring.piece is None:
            raise VerifyException(f"copies pieces, and @{ring.sym_name.data} has none")
        if [argument.type for argument in block.args] != [index] or not isinstance(block.last_op, StartsOp):
            raise VerifyException("says where the box of a piece begins, by its first key")
        if len(self.start) != len(ring.declaration.shape):
            raise VerifyException("says where a box begins along each axis of the tensor")


@irdl_op_definition
class StartsOp(IRDLOperation):
    """Where the box of a piece begins."""

    name = "roles.starts"
    places = var_operand_def(IndexType)
    traits = traits_def(IsTerminator())
    assembly_format = "$places attr-dict"

    def __init__(self, places: Sequence[SSAValue]) -> None:
        super().__init__(operands=[places])
