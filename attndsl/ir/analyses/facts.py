"""Small facts about integers of a `tile` kernel, for choosing how to spell them. An analysis."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.ir import spec, tile
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, index


def is_nonnegative(value: SSAValue) -> bool:
    """Whether an integer can be seen to be at least 0 wherever it is looked at."""
    return Signs().nonnegative(value)


def is_positive(value: SSAValue) -> bool:
    """Whether an integer can be seen to be at least 1."""
    return Signs().positive(value)


class Signs:
    """What is seen of integers, each looked at once: values share operands. Valid while the module does not change."""

    def __init__(self) -> None:
        self._nonnegative: dict[SSAValue, bool] = {}
        self._positive: dict[SSAValue, bool] = {}
        self._ranges = Ranges()

    def nonnegative(self, value: SSAValue) -> bool:
        """As `is_nonnegative`."""
        if value not in self._nonnegative:
            self._nonnegative[value] = self._is_nonnegative(value)
        return self._nonnegative[value]

    def positive(self, value: SSAValue) -> bool:
        """As `is_positive`."""
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
            case spec.DimOp() | spec.ChoiceOp() | tile.ProgramOp() | tile.PaddedOp():
                return True
            case tile.LaneOp():
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
            case spec.ChoiceOp() | tile.PaddedOp():
                return True
            case arith.MuliOp():
                return all(map(self.positive, owner.operands))
            case arith.AddiOp():
                return all(map(self.nonnegative, owner.operands)) and any(map(self.positive, owner.operands))
        return False


def leaves(value: SSAValue) -> Iterator[SSAValue]:
    """What an integer is computed from by arithmetic: dims, parameters, constants, loads, lanes and the like."""
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if top in seen:
            continue
        seen.add(top)
        owner = top.owner
        given = Block | tile.LoadOp | tile.LaneOp | tile.ProgramOp | tile.LoopOp | spec.ChoiceOp
        if isinstance(owner, given) or not owner.operands:
            yield top
        else:
            stack.extend(owner.operands)


def is_launch_time(value: SSAValue) -> bool:
    """Whether a launcher can compute an integer: it reads no data and is the same for all programs."""
    known = spec.DimOp | spec.ParamOp | spec.ChoiceOp
    return all(constant(v) is not None or isinstance(v.owner, known) for v in leaves(value))


def is_quotient(op: Operation) -> bool:
    """Whether an operation divides what a launch knows: a GPU takes a hundred instructions for it."""
    return isinstance(op, arith.FloorDivSIOp | spec.ModOp) and is_launch_time(op.result)


def read(op: Operation) -> Iterator[SSAValue]:
    """The values that an operation takes, once launches know a program's sizes and lanes are full."""
    match op:
        case tile.ProgramOp():
            if op.bound is not None:
                yield op.extent
        case tile.LaneOp():
            yield from (op.start, op.size)
        case tile.PaddedOp() | spec.ChoiceOp():
            pass
        case tile.LoopOp():  # where the keys of a row end, its body asks if it has to
            yield from (op.lb, op.ub, op.step, *op.iter_args)
        case tile.PlaceOp():
            yield from (*op.shared, *op.near, *(v.owner.size for v in op.lanes if isinstance(v.owner, tile.LaneOp)))
        case tile.ReduceOp() | tile.DotOp() | tile.SpreadOp() | tile.RelabelOp():
            # A lane that only names an axis counts for its length.
            yield from (v.owner.size if isinstance(v.owner, tile.LaneOp) else v for v in op.operands)
        case _:
            yield from op.operands


def executed(kernel: tile.KernelOp) -> set[Operation]:
    """The operations that a program executes."""
    found: set[Operation] = set()
    stack: list[Operation] = [op for op in kernel.walk() if isinstance(op, tile.StoreOp | tile.ProgramOp)]
    while stack:
        op = stack.pop()
        if op in found:
            continue
        found.add(op)
        values = list(read(op))
        for region in op.regions:
            last = region.block.last_op
            assert last is not None
            values += last.operands
        for value in values:
            owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
            assert owner is not None
            stack.append(owner)
    return found
