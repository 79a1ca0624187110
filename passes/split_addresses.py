"""split-addresses: an index becomes an offset that is the same for a whole tile, and one that differs within it.

Why: an address has 64 bits, yet elements of one tile mostly lie close together. So what is the same for the tile is
added to the pointer in 64 bits, once, and what differs from element to element, a place in the tile times a stride, in
32, at launches whose strides allow it. Of a loop over keys only the first part changes: the second is computed before
it.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @first index
    tile.kernel @k {
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %first = spec.param "first" : index
      %i0 = tile.program "i" to %M step %rows
      %i_end = arith.addi %i0, %rows : index
      %i = tile.range "i" from %i0 to %i_end size %rows
      %i_in = arith.cmpi slt, %i, %M : index
      %at = arith.addi %i, %first : index
      %x = tile.load @x[%at] where %i_in : f32
      tile.store @o[%i] = %x where %i_in : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @first index
    tile.kernel @k {
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %first = spec.param "first" : index
      %i0 = tile.program "i" to %M step %rows
      %i_end = arith.addi %i0, %rows : index
      %i = tile.range "i" from %i0 to %i_end size %rows
      %o_at = tile.place [1 : index] of(%i0) axes(%i) near()
      %i_in = arith.cmpi slt, %i, %M : index
      %x_at = tile.place [1 : index, 1 : index] of(%i0, %first) axes(%i) near()
      %x = tile.load @x[%x_at] where %i_in : f32
      tile.store @o[%o_at] = %x where %i_in : f32
    }

An index stays whole that is the same for a tile, or where what differs within it has no bound before a launch: one that
was read as 32 bits.

Requires: pad-axes. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.analyses.widths import Widths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class SplitAddresses(ModulePass):
    """Takes apart the indices of loads and stores that vary along a tile."""

    name = "split-addresses"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                _Places().split(kernel)


@dataclass
class _Place:
    """An index as a sum: how often each value of `shared` counts, how far `axes` are from their starts, and `near`."""

    shared: Counter[SSAValue] = field(default_factory=Counter)
    axes: list[SSAValue] = field(default_factory=list)
    near: list[SSAValue] = field(default_factory=list)


class _Places:
    """The indices of a kernel taken apart, each once."""

    def __init__(self) -> None:
        self.axes = AxesAnalysis()
        self.widths = Widths()
        self.known: dict[SSAValue, SSAValue] = {}

    def split(self, kernel: tile.KernelOp) -> None:
        accesses = [op for op in operations(kernel) if isinstance(op, tile.LoadOp | tile.StoreOp)]
        for op in accesses:
            for position, index in enumerate(op.indices):
                if index not in self.known:
                    self.known[index] = self.taken_apart(index)
                op.operands[position] = self.known[index]
        _drop([index.owner for index, place in self.known.items() if index is not place])

    def taken_apart(self, index: SSAValue) -> SSAValue:
        """What stands for an index: a place, right after it, or itself."""
        place, owner = _Place(), index.owner
        if isinstance(owner, tile.PlaceOp) or not self.axes(index) or not self.collects(index, 1, place):
            return index
        assert isinstance(owner, Operation) and owner.parent is not None
        shared = {value: count for value, count in place.shared.items() if count}
        split = tile.PlaceOp(shared, place.axes, place.near)
        split.location = owner.location
        owner.parent.insert_op_after(split, owner)
        return split.result

    def collects(self, value: SSAValue, sign: int, place: _Place) -> bool:
        """Adds an index to a place, once or, where `sign` is -1, less once; says whether it could."""
        op = value.owner
        if not self.axes(value):
            place.shared[value] += sign
            return True
        bound = self.widths.bound(value)
        match op:
            case _ if sign > 0 and bound is not None and set(bound) <= {()}:
                place.near.append(value)
                return True
            case tile.RangeOp() if sign > 0:
                place.shared[op.start] += 1
                place.axes.append(value)
                return True
            case arith.AddiOp() | arith.SubiOp():
                second = -sign if isinstance(op, arith.SubiOp) else sign
                return self.collects(op.lhs, sign, place) and self.collects(op.rhs, second, place)
        return False


def _drop(dead: list[Operation | Block]) -> None:
    """Removes what computed indices that are places now, where nothing else takes it."""
    while dead:
        op = dead.pop()
        if isinstance(op, arith.AddiOp | arith.SubiOp) and op.parent is not None and not op.result.first_use:
            dead += [operand.owner for operand in op.operands]
            op.parent.erase_op(op)
