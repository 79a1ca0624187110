"""Which integers fit 32 bits, and what must hold of a launch for that. An analysis of a `tile` kernel.

Integer arithmetic on tiles costs twice as much, and twice the registers, in 64 bits. The integers that vary along a
tile are numbers of rows and keys, and what is computed of them; a launch whose dims bound them all below 2^31 runs them
in 32 bits, any other in 64. What memory holds in 8 bits, and what is computed of it, is bounded whatever the launch.
Larger integers that were read are not, and neither is an address.
"""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import Signs, is_launch_time
from attndsl.ir.analyses.stored import is_carried
from attndsl.ir.bounds import Bound, Factor
from attndsl.ir.ranges import Ranges, is_identity
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, SSAValue, arith, index

LARGEST_TILE = 2**12
"""No tile is longer: what is chosen at a launch counts as this much."""

MOST_TERMS = 64
"""A sum of more products bounds nothing: the launcher would compute them at each call."""

ONE = Bound({(): 1})


class Widths:
    """The bounds of a kernel's integers, by the dims and parameters of a launch."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Bound | None] = {}
        self._known_upper: dict[SSAValue, Bound | None] = {}
        self._ranges = Ranges()
        self.nonnegative = Signs(self._ranges).nonnegative

    def bound(self, value: SSAValue) -> Bound | None:
        """What is at least |value|, over dims and the sizes of parameters; None where there is nothing."""
        if value not in self._known:
            self._known[value] = None  # a loop's own state bounds nothing
            self._known[value] = _useful(self._bound(value))
        return self._known[value]

    def narrow(self, value: SSAValue) -> bool:
        """Whether an integer fits 32 bits at launches whose bounds do."""
        return value.type == index and self.bound(value) is not None

    def bounded_above(self, value: SSAValue) -> bool:
        """Whether an integer, which may be far below 0, is no more than what fits 32 bits at launches that bound it."""
        return value.type == index and self._upper(value) is not None

    def _bound(self, value: SSAValue) -> Bound | None:
        known = constant(value)
        if known is not None:
            return Bound({(): abs(int(known))})
        op = value.owner
        match op:
            case Block():
                loop = op.parent_op()
                if isinstance(loop, tile.LoopOp) and value is op.args[0] and self.nonnegative(loop.lb):
                    return self._upper(loop.ub)
            case spec.DimOp():
                return Bound({(Factor("dim", op.dim.data),): 1})
            case spec.ParamOp():
                return Bound({(Factor("param", op.param.data),): 1})
            case spec.ChoiceOp() | tile.PaddedOp():
                return Bound({(): LARGEST_TILE})
            case tile.ProgramOp():
                limit = op.bound or op.extent
                return self.bound(limit) if is_launch_time(limit) else None
            case tile.OuterLoopOp():
                return self.bound(op.extent)
            case tile.RangeOp():
                return self._sum([op.start, op.size])
            case tile.MaxOp() | tile.MinOp():
                return self.bound(op.body)
            case arith.SelectOp():
                return self._sum(v for v in (op.lhs, op.rhs) if not is_identity(v, op))
            case arith.MaxSIOp() | arith.MinSIOp() if self.nonnegative(value):
                return self._upper(value)
            case arith.AddiOp() | arith.SubiOp() | arith.MaxSIOp() | arith.MinSIOp():
                return self._sum(op.operands)
            case arith.MuliOp() if self.nonnegative(value) and (tiles := self._whole_tiles(op)) is not None:
                return tiles
            case arith.MuliOp():
                left, right = map(self.bound, op.operands)
                return _product(left, right) if left is not None and right is not None else None
            case arith.FloorDivSIOp():
                # Rounded down, a quotient of a negative number may be 1 further from 0.
                left = self.bound(op.lhs)
                return left + ONE if left is not None and self.bound(op.rhs) is not None else None
            case spec.ModOp():
                return self.bound(op.rhs) if self.bound(op.lhs) is not None else None
            case tile.LoadOp() if not is_carried(value):
                return self._within(value)  # what a loop carries is widened where it is used
            case arith.ShLIOp() | arith.ShRSIOp() if (
                not 0 <= self._ranges(op.rhs).low <= self._ranges(op.rhs).high < 32
            ):
                return None  # all bits of 32 are shifted out
            case arith.AndIOp() | arith.OrIOp() | arith.XOrIOp() | arith.ShLIOp() | arith.ShRSIOp():
                return self._within(value) if all(self.narrow(v) and is_short(v) for v in op.operands) else None
        return None

    def _within(self, value: SSAValue) -> Bound:
        """The largest magnitude of an integer, as far as that is known before a launch."""
        return Bound({(): max(map(abs, self._ranges(value)))})

    def _upper(self, value: SSAValue) -> Bound | None:
        """What is at least an integer, which may be far below."""
        if value not in self._known_upper:
            self._known_upper[value] = _useful(self._upper_of(value))
        return self._known_upper[value]

    def _upper_of(self, value: SSAValue) -> Bound | None:
        op = value.owner
        match op:
            case arith.MinSIOp():
                return next((upper for upper in map(self._upper, op.operands) if upper is not None), None)
            case arith.SubiOp() if self.nonnegative(op.rhs):
                return self._upper(op.lhs)
            case arith.AddiOp():
                return _total(map(self._upper, op.operands))
            case arith.MaxSIOp():
                return _total(map(self._upper, op.operands))
            case arith.MuliOp() if (tiles := self._whole_tiles(op)) is not None:
                return tiles
            case tile.MaxOp() | tile.MinOp():
                return self._upper(op.body)
            case arith.SelectOp():
                return _total(self._upper(v) for v in (op.lhs, op.rhs) if not is_identity(v, op))
            case tile.BroadcastOp():
                return self._upper(op.value)
            case tile.LoopOp() if (start := self._falling(op, value)) is not None:
                return self._upper(start)
        return self.bound(value)

    @staticmethod
    def _falling(loop: tile.LoopOp, result: SSAValue) -> SSAValue | None:
        """What a loop starts from that carries the least of it and of what comes; None where it does not."""
        place = loop.results.index(result)
        end = loop.end.values[place].owner
        least = isinstance(end, arith.MinSIOp) and loop.body.block.args[place + 1] in end.operands
        return loop.iter_args[place] if least else None

    def _whole_tiles(self, op: arith.MuliOp) -> Bound | None:
        """What is at least the whole tiles of a length, (length / size) * size; None where it is no such product."""
        quotient = op.lhs.owner
        if isinstance(quotient, arith.FloorDivSIOp) and quotient.rhs is op.rhs and self.nonnegative(op.rhs):
            return self._upper(quotient.lhs)
        return None

    def _sum(self, values: Iterable[SSAValue]) -> Bound | None:
        return _total(map(self.bound, values))


def is_short(value: SSAValue) -> bool:
    """Whether a value is no number that needs more than 32 bits."""
    return -(2**31) <= (constant(value) or 0) < 2**31


def _useful(bound: Bound | None) -> Bound | None:
    """A bound that a launcher can compute, and that some launch keeps."""
    return bound if bound is not None and len(bound) <= MOST_TERMS and bound[()] < 2**31 else None


def _total(bounds: Iterable[Bound | None]) -> Bound | None:
    total = Bound()
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


def _product(a: Bound, b: Bound) -> Bound:
    product = Bound()
    for left, x in a.items():
        for right, y in b.items():
            product[tuple(sorted(left + right))] += x * y
    return product
