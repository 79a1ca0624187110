"""choose-index-width: integers of tiles that a launch can bound are computed in the launch's index width.

Why: integer arithmetic on tiles costs twice as much, and twice the registers, in 64 bits, and a division of 64 bits is
a function that a GPU calls. Numbers of rows and keys fit 32 bits at nearly every launch, which knows the dims that
bound them: it compares one sum with 2^31, and a kernel is compiled for either width. Addresses have 64 bits; only what
differs within a tile is multiplied with strides in the index width, so the bounds hold strides too.

Before:

    spec.tensor @x "input" "f32" ["M"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %rows
      %i_end = arith.addi %i0, %rows : index
      %i = tile.range "i" from %i0 to %i_end size %rows
      %at = tile.place [1 : index] of(%i0) axes(%i) near()
      %i_in = arith.cmpi slt, %i, %M : index
      %x = tile.load @x[%at] where %i_in : f32
      tile.store @o[%at] = %x where %i_in : f32
    }

After:

    spec.tensor @x "input" "f32" ["M"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k bounds [
      [64 : index], [1 : index, "M"], [64 : index, [@o, 0 : index]], [64 : index, [@x, 0 : index]]
    ] {
      %rows = arith.constant 64 : index
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %rows
      %i_end = arith.addi %i0, %rows : index
      %i = tile.range "i" from %i0 to %i_end size %rows
      %at = tile.place [1 : index] of(%i0) axes(%i) near()
      %i_in = arith.cmpi slt, %i, %M : index
      %x = tile.load @x[%at] where %i_in : f32
      tile.store @o[%at] = %x where %i_in : f32
      tile.narrow %i, %i_in : index, i1
    }

Chosen are the integers that vary along an axis and have a bound; comparisons with one of them, where all that is
compared has a bound; and divisions by what is no constant, where both operands have one. A quotient that a launch
computes is none of them. The identity element of a least or largest of them is that of their width, `tile.identity`.
Where a row's keys end, as data say, may be far below 0: with places of keys 0 is compared then, which bounds it.

Requires: split-addresses, hoist-quotients. Ensures: the bounds hold for every integer that a `tile.narrow` names.
Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import executed
from attndsl.ir.analyses.widths import LARGEST_TILE, Widths, is_short
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.bounds import Bound, Factor, bounds_attribute
from attndsl.ir.exactness import Exactness
from attndsl.ir.meaning import predicate
from attndsl.ir.ranges import IDENTITY, is_identity
from attndsl.ir.rewrite import constant, index_constant, insert_before, say
from attndsl.ir.statements import named, operations
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, SSAValue, arith, index


@dataclass(frozen=True)
class ChooseIndexWidth(ModulePass):
    """Names what each kernel computes in the launch's index width, and the bounds that the width rests on."""

    name = "choose-index-width"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                _Choice().choose(kernel)


class _Choice:
    """The choice for one kernel."""

    def __init__(self) -> None:
        self.axes = AxesAnalysis()
        self.widths = Widths()
        self.identities: dict[str, SSAValue] = {}

    def choose(self, kernel: tile.KernelOp) -> None:
        self.raise_ends(kernel)
        run, launched = executed(kernel), named(kernel, tile.LaunchedOp)
        ops = [op for op in operations(kernel) if op in run and launched.isdisjoint(op.results)]
        bounds = Bound()
        chosen: list[SSAValue] = []
        for op in ops:
            if isinstance(op, tile.LoadOp | tile.StoreOp):
                bounds |= self.reached(op)
            if len(op.results) == 1 and self.is_narrow(op):
                chosen.append(op.results[0])
                for value in self.bounded(op):
                    bounds |= self.widths.bound(value) or Bound()
        for value in chosen:
            self.narrow_identity(value.owner)
        say(kernel, tile.NarrowOp, chosen)
        kernel.bounds = bounds_attribute(bounds)

    def raise_ends(self, kernel: tile.KernelOp) -> None:
        """Lets tests whether an integer is above a place, which is at least 0, take 0 for what is less than that."""
        raised: dict[SSAValue, SSAValue] = {}
        for op in [op for op in operations(kernel) if isinstance(op, arith.CmpiOp)]:
            end, place = _above(op)
            if end is None or place is None or isinstance(end.owner, Block) or self.widths.narrow(end):
                continue
            if self.is_narrow_tile(place) and self.widths.nonnegative(place) and self.widths.bounded_above(end):
                if end not in raised:
                    following = end.owner.next_op
                    assert following is not None, "it is compared behind it"
                    zero = insert_before(following, index_constant(0))
                    raised[end] = insert_before(following, arith.MaxSIOp(end, zero), end.name_hint)
                op.operands[list(op.operands).index(end)] = raised[end]

    def narrow_identity(self, op: Operation | Block) -> None:
        """Lets an operation that is narrow take the identity element of its width."""
        assert isinstance(op, Operation)
        for position, value in enumerate(op.operands):
            if is_identity(value, op) and isinstance(value.owner, arith.ConstantOp):
                kind = "min" if constant(value) == IDENTITY else "max"
                if kind not in self.identities:
                    self.identities[kind] = insert_before(_outermost(op), tile.IdentityOp(kind))
                op.operands[position] = self.identities[kind]

    def is_narrow(self, op: Operation) -> bool:
        """Whether an operation is computed in the index width."""
        match op:
            case arith.CmpiOp():
                varies = any(map(self.is_narrow_tile, op.operands))
                return varies and all(is_short(v) and self.widths.narrow(v) for v in op.operands)
            case arith.FloorDivSIOp() | spec.ModOp() if not self.axes(op.result) and constant(op.rhs) is None:
                chosen = isinstance(op.rhs.owner, spec.ChoiceOp)  # a power of two
                return not chosen and all(map(self.widths.narrow, op.operands))
        return self.is_narrow_tile(op.results[0])

    def is_narrow_tile(self, value: SSAValue) -> bool:
        """Whether an integer varies along a tile and is bounded.

        The larger of two is bounded where one of them is; the other may be far below.
        """
        op = value.owner
        larger = op.operands if isinstance(op, arith.MaxSIOp | arith.MinSIOp) else ()
        fits = all(self.widths.narrow(v) and is_short(v) for v in larger)
        return fits and bool(self.axes(value)) and self.widths.narrow(value)

    def bounded(self, op: Operation) -> Iterator[SSAValue]:
        """The integers that fit where an operation is narrow, but those whose own operation is."""
        if isinstance(op, tile.RangeOp | tile.LoadOp) or not op.name.startswith("tile."):
            yield from (v for v in op.results if v.type == index)
        if not op.name.startswith("tile."):
            taken = (v for v in op.operands if v.type == index and constant(v) is None and not is_identity(v, op))
            yield from (v for v in taken if not self.is_narrow_tile(v))

    def reached(self, op: tile.LoadOp | tile.StoreOp) -> Bound:
        """How far from its first element a tile reaches in memory, along the axes whose indices are places."""
        found = Bound()
        for axis, place in enumerate(value.owner for value in op.indices):
            if isinstance(place, tile.PlaceOp):
                near = [self.widths.bound(value) or Bound() for value in place.near]
                span = sum(map(_length, place.axes)) + sum(bound[()] for bound in near)
                found |= Bound({(Factor("stride", op.tensor.string_value(), axis),): span})
                for value, bound in zip(place.near, near, strict=True):
                    found |= Bound() if self.is_narrow_tile(value) else bound
        return found


def _above(op: arith.CmpiOp) -> tuple[SSAValue | None, SSAValue | None]:
    """What a comparison asks of, whether it is above something, and that; None where it asks for something else."""
    match predicate(op):
        case "sgt" | "sle":
            return op.lhs, op.rhs
        case "slt" | "sge":
            return op.rhs, op.lhs
    return None, None


def _length(axis: SSAValue) -> int:
    """How long an axis is at most."""
    assert isinstance(axis.owner, tile.RangeOp)
    return int(constant(axis.owner.size) or LARGEST_TILE)


def _outermost(op: Operation) -> Operation:
    """The operation of the kernel's own block that an operation is, or stands in: what is behind it may be in loops."""
    while (around := op.parent_op()) is not None and not isinstance(around, tile.KernelOp):
        op = around
    return op
