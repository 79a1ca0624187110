"""Small facts about integers of a `tile` kernel, for choosing how to spell them. An analysis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from attndsl.ir import spec, tile
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import named, operations
from attndsl.ir.walks import ACTIONS
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, index, scf


class Signs:
    """What is seen of integers, each looked at once: values share operands. Valid while the module does not change."""

    def __init__(self, ranges: Ranges) -> None:
        self._nonnegative: dict[SSAValue, bool] = {}
        self._positive: dict[SSAValue, bool] = {}
        self._ranges = ranges

    def nonnegative(self, value: SSAValue) -> bool:
        """Whether an integer can be seen to be at least 0 wherever it is looked at."""
        if value not in self._nonnegative:
            self._nonnegative[value] = self._is_nonnegative(value)
        return self._nonnegative[value]

    def positive(self, value: SSAValue) -> bool:
        """Whether an integer can be seen to be at least 1."""
        if value not in self._positive:
            self._positive[value] = self._is_positive(value)
        return self._positive[value]

    def _is_nonnegative(self, value: SSAValue) -> bool:
        known = constant(value)
        if known is not None:
            return known >= 0
        owner = value.owner
        match owner:
            case Block():
                loop = owner.parent_op()
                return isinstance(loop, tile.LoopOp) and value is owner.args[0] and self.nonnegative(loop.lb)
            case spec.ChoiceOp() | tile.ProgramOp() | tile.OuterLoopOp() | tile.PaddedOp() | tile.PackOp():
                return True
            case spec.DimOp() | spec.ParamOp():
                return spec.is_size(owner)
            case tile.IdentityOp():
                return owner.in_64_bits >= 0
            case tile.RangeOp():
                return self.nonnegative(owner.start)
            case tile.MinOp():
                return self.nonnegative(owner.body)
            case spec.ModOp():
                return self.nonnegative(owner.rhs)
            case arith.AddiOp() | arith.MuliOp():
                return all(map(self.nonnegative, owner.operands)) and self._ranges.fits(value)
            case arith.FloorDivSIOp() | arith.MinSIOp():
                return all(map(self.nonnegative, owner.operands))
            case arith.SubiOp():
                return constant(owner.rhs) == 1 and self.positive(owner.lhs)
            case arith.MaxSIOp():
                return any(map(self.nonnegative, owner.operands))
            case arith.SelectOp():
                return self.nonnegative(owner.lhs) and self.nonnegative(owner.rhs)
            case tile.LoadOp() | arith.AndIOp() | arith.OrIOp() | arith.XOrIOp() | arith.ShLIOp() | arith.ShRSIOp():
                return value.type == index and self._ranges(value).low >= 0
        return False

    def _is_positive(self, value: SSAValue) -> bool:
        known = constant(value)
        if known is not None:
            return known > 0
        owner = value.owner
        match owner:
            case spec.ChoiceOp() | tile.PaddedOp() | tile.PackOp():
                return True
            case arith.MuliOp():
                return all(map(self.positive, owner.operands))
            case arith.AddiOp():
                return all(map(self.nonnegative, owner.operands)) and any(map(self.positive, owner.operands))
        return False


class Unsigned:
    """Which integers a kernel says are never negative, and numbers that show it."""

    def __init__(self, kernel: tile.KernelOp) -> None:
        self._named = named(kernel, tile.UnsignedOp)

    def __call__(self, value: SSAValue) -> bool:
        """Whether an integer is never negative."""
        known = constant(value)
        return value in self._named if known is None else known >= 0


GIVEN = (Block, tile.LoadOp, tile.RangeOp, tile.ProgramOp, tile.LoopOp, tile.OuterLoopOp, spec.ChoiceOp)
"""What gives an integer that arithmetic is not looked through."""

LAUNCHED = (spec.DimOp, spec.ParamOp, spec.ChoiceOp, arith.ConstantOp)
"""What gives an integer that a launch knows."""


def leaves(value: SSAValue) -> Iterator[SSAValue]:
    """What an integer is computed from by arithmetic: dims, parameters, constants, loads, axes and the like."""
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if top in seen:
            continue
        seen.add(top)
        owner = top.owner
        if type(owner) in GIVEN or isinstance(owner, Block) or not owner.operands:
            yield top
        else:
            stack.extend(owner.operands)


def is_launch_time(value: SSAValue) -> bool:
    """Whether a launcher can compute an integer: it reads no data and is the same for all programs."""
    return all(type(v.owner) in LAUNCHED for v in leaves(value))


def is_before_choice(value: SSAValue) -> bool:
    """Whether a launcher can compute an integer before it has chosen the sizes of tiles; how many splits, it has."""
    choices = (leaf.owner for leaf in leaves(value) if isinstance(leaf.owner, spec.ChoiceOp))
    return is_launch_time(value) and all(op.most is not None for op in choices)


def launch_time(kernel: tile.KernelOp) -> dict[SSAValue, None]:
    """All that `is_launch_time` holds of in a kernel, in order."""
    found: dict[SSAValue, None] = {}
    for op in operations(kernel):
        if type(op) in LAUNCHED or (_is_arithmetic(op) and all(v in found for v in op.operands)):
            found.update(dict.fromkeys(op.results))
    return found


def _is_arithmetic(op: Operation) -> bool:
    return type(op) not in GIVEN and not op.regions and bool(op.operands)


def _sizes(op: Operation) -> list[SSAValue]:
    """The operands; an axis that only names an axis counts for its length."""
    return [v.owner.size if type(v.owner) is tile.RangeOp else v for v in op.operands]


READ: dict[type[Operation], Callable[[Any], Sequence[SSAValue]]] = {
    tile.ProgramOp: lambda op: (op.extent,) if op.bound is not None else (),
    tile.RangeOp: lambda op: (op.start, op.size),
    # Where the keys of a row end, the body of a loop asks if it has to.
    tile.LoopOp: lambda op: (op.lb, op.ub, op.step, *op.iter_args, *(() if op.outer is None else op.outer.results)),
    tile.PaddedOp: lambda op: (),
    spec.ChoiceOp: lambda op: (),
    tile.PlaceOp: lambda op: (*op.shared, *op.near, *(axis.owner.size for axis in op.axes)),
    **dict.fromkeys(
        (
            tile.SumOp,
            tile.MaxOp,
            tile.MinOp,
            tile.AllOp,
            tile.DotOp,
            tile.BroadcastOp,
            tile.RenameAxisOp,
            tile.RepeatOp,
        ),
        _sizes,
    ),
}
"""The values that operations take, once launches know a program's sizes and axes are full; of others, all operands."""


def executed(kernel: tile.KernelOp, launched: Collection[SSAValue] = ()) -> set[Operation]:
    """The operations that a program executes; with what a choice does, the choice.

    What a launch computes, and what that alone takes, is left out where it says so.
    """
    stack = [op for op in operations(kernel) if type(op) in (tile.StoreOp, tile.ProgramOp, *ACTIONS)]
    found: set[Operation] = set(stack)
    while stack:
        op = stack.pop()
        read = READ.get(type(op))
        values = [*(op.operands if read is None else read(op))]
        for region in op.regions:
            last = region.block.last_op
            values += last.operands if last is not None else ()
        for value in values:
            owner = value.owner if type(value.owner) is not Block else value.owner.parent_op()
            if owner not in found and value not in launched:
                found.add(owner)  # type: ignore[arg-type]
                stack.append(owner)  # type: ignore[arg-type]
        choice = op.parent_op()
        if isinstance(choice, scf.IfOp) and choice not in found:
            found.add(choice)
            stack.append(choice)
    return found


def is_multiple(value: SSAValue, size: SSAValue) -> bool:
    """Whether a number is a multiple of a tile's size, be it 0."""
    if value is size or constant(value) == 0:
        return True
    op = value.owner
    match op:
        case Block():
            loop = op.parent_op()
            steps = isinstance(loop, tile.LoopOp) and value is op.args[0]
            return steps and is_multiple(loop.lb, size) and is_multiple(loop.step, size)  # type: ignore[union-attr]
        case arith.MuliOp():
            return any(is_multiple(v, size) for v in op.operands)
        case arith.AddiOp() | arith.SubiOp() | arith.MinSIOp() | arith.MaxSIOp():
            return all(is_multiple(v, size) for v in op.operands)
        case arith.SelectOp():
            return all(is_multiple(v, size) for v in (op.lhs, op.rhs))
    return False
