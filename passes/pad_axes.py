"""pad-axes: axes are filled up to sizes that fixed tiles can have; what lies behind their stop is guarded.

Why: an axis holds only the values before its stop, and any number of them. Hardware with matrix units has tiles of a
power of two, at least 16. Afterwards every axis can be run at its full size: memory is touched, and an axis summed
over, only where the axis is before its stop. What the rest of a tile computes there is never looked at, be it NaN.

Before:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %zero to %D size %D
      %x = tile.load @x[%i, %d] : f32
      %t = tile.max %x over %d : f32 to f32
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i_end = arith.addi %i0, %rows : index
      %i = tile.range "i" from %i0 to %i_end size %rows
      %i_in = arith.cmpi slt, %i, %M : index
      %d_pad = tile.padded %D
      %d = tile.range "d" from %zero to %d_pad size %d_pad
      %d_in = arith.cmpi slt, %d, %D : index
      %x_in = arith.andi %i_in, %d_in : i1
      %x = tile.load @x[%i, %d] where %x_in : f32
      %low = arith.constant 0xff800000 : f32  // -inf
      %x0 = arith.select %d_in, %x, %low : f32
      %t = tile.max %x0 over %d : f32 to f32
      tile.store @o[%i] = %t where %i_in : f32
    }

A sum or product takes no select where its terms are 0 behind the stop anyway: loads are, and what is made of them. What
a tile.within says of a value along an axis that is filled up need not hold behind the stop, and goes.

Requires: tile. Ensures: every axis's stop is its start + size. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.rewrite import constant, constant_op, guarded, index_constant, insert_before, replace
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import (
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    SSAValue,
    arith,
)


@dataclass(frozen=True)
class PadAxes(ModulePass):
    """Makes axes full, and guards what runs along them."""

    name = "pad-axes"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                axes = [o for o in of_kind(kernel, tile.RangeOp) if not is_full(o)]
                _Guards(dict(_fill(axis) for axis in axes)).guard(kernel)


def is_full(axis: tile.RangeOp) -> bool:
    """Whether an axis has all the values that its size says, and a size that fits."""
    return fits(axis.size) and _is_end(axis.stop, axis)


def fits(size: SSAValue) -> bool:
    """Whether a tile of fixed size can have an axis that is so long."""
    known = constant(size)
    # A launch chooses only powers of two.
    return isinstance(size.owner, tile.PaddedOp | spec.ChoiceOp) if known is None else known == tile.padded(int(known))


def _is_end(stop: SSAValue, axis: tile.RangeOp) -> bool:
    owner = stop.owner
    if isinstance(owner, arith.AddiOp):
        return (owner.lhs, owner.rhs) == (axis.start, axis.size)
    return constant(axis.start) == 0 and stop is axis.size


def _fill(axis: tile.RangeOp) -> tuple[SSAValue, SSAValue]:
    """Puts a full axis in the place of another; gives it, and where it is before the other's stop."""
    name = axis.variable.data
    size, limit = axis.size, axis.stop
    starts_at_zero = constant(axis.start) == 0
    if not fits(size):
        known = constant(size)
        if limit is not size:
            limit = insert_before(axis, arith.MinSIOp(limit, _end(axis, size, name)))
        padded = tile.PaddedOp(size) if known is None else index_constant(tile.padded(int(known)))
        size = insert_before(axis, padded, f"{size.name_hint or name}_PAD")
    full = tile.RangeOp(name, axis.start, size if starts_at_zero else _end(axis, size, name), size)
    insert_before(axis, full, axis.result.name_hint)
    inside = insert_before(axis, arith.CmpiOp(full.result, limit, "slt"), f"{name}_in")
    replace(axis, [full.result])
    return full.result, inside


def _end(axis: tile.RangeOp, size: SSAValue, name: str) -> SSAValue:
    return insert_before(axis, arith.AddiOp(axis.start, size), f"{name}_end")


class _Guards:
    """Puts the guards of axes where memory is touched and where axes are summed over."""

    def __init__(self, inside: dict[SSAValue, SSAValue]) -> None:
        self.inside = inside
        self.axes = AxesAnalysis()

    def guard(self, kernel: tile.KernelOp) -> None:
        for op in operations(kernel):
            match op:
                case tile.LoadOp():
                    self.access(op, list(op.indices))
                case tile.StoreOp():
                    self.access(op, [*op.indices, op.value])
                case tile.ReduceOp() if op.over in self.inside:
                    op.operands[0] = self.select(op, op.body, op.over, monoid_of(op).identity(op.body.type))
                case tile.WithinOp() if not self.axes(op.value).isdisjoint(self.inside):
                    replace(op, [])  # behind an axis's stop it need not be so
                case tile.DotOp() if op.over in self.inside:
                    op.operands[0] = self.select(op, op.lhs, op.over, 0.0)
                    op.operands[1] = self.select(op, op.rhs, op.over, 0.0)

    def access(self, op: tile.LoadOp | tile.StoreOp, values: list[SSAValue]) -> None:
        axes = frozenset[SSAValue]().union(*map(self.axes, values))
        conditions = conjuncts(op.where)
        guards = [guard for axis, guard in self.inside.items() if axis in axes and guard not in conditions]
        if not guards:
            return
        copy = guarded(op, conjunction([*conditions, *guards], op))
        block = op.parent
        assert block is not None
        block.insert_op_before(copy, op)
        replace(op, copy.results)

    def select(self, op: Operation, value: SSAValue, axis: SSAValue, otherwise: float) -> SSAValue:
        if otherwise == 0 and self.is_zero_outside(value, axis):
            return value
        number = insert_before(op, constant_op(otherwise, value.type))
        return insert_before(op, arith.SelectOp(self.inside[axis], value, number), value.name_hint)

    def is_zero_outside(self, value: SSAValue, axis: SSAValue) -> bool:
        """Whether a value is 0 where an axis is behind its stop."""
        op = value.owner
        match op:
            case tile.LoadOp():
                return self.inside[axis] in conjuncts(op.where)
            case arith.ConstantOp():
                return constant(value) == 0
            case arith.MulfOp() | arith.AddfOp() | arith.SubfOp() | arith.NegfOp():
                # A product with only one factor 0 could be 0 * inf.
                return all(self.is_zero_outside(operand, axis) for operand in op.operands)
            case arith.SelectOp():
                if self.inside[axis] in conjuncts(op.cond):
                    return self.is_zero_outside(op.rhs, axis)
                return self.is_zero_outside(op.lhs, axis) and self.is_zero_outside(op.rhs, axis)
        return False
