"""Pairs of rows and keys that two kernels walk: what values of one are in the other, and how they come there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import Reduction
from attndsl.ir.materialise import materialise
from attndsl.ir.polynomial import Facts, Polynomial, add, number
from attndsl.ir.rewrite import copied
from attndsl.ir.told import Told
from attndsl.ir.xdsl import Operation, SSAValue, arith, index

Stands = dict[SSAValue, SSAValue]

OF_PAIRS = (attn.EachOp, attn.OuterOp, attn.OverOp)
"""What gives the variables of pairs."""


@dataclass
class Matched:
    """What values of one kernel are in another, and the integers of both that have to be equal for that."""

    known: Stands = field(default_factory=dict)
    equal: list[tuple[SSAValue, SSAValue]] = field(default_factory=list)

    def same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether a value is the other, if integers agree."""
        op, twin = value.owner, other.owner
        assert isinstance(op, Operation) and isinstance(twin, Operation)
        if value.type != other.type:
            return False
        if value.type == index and not isinstance(op, attn.AxisOp):
            if isinstance(op, OF_PAIRS) and value not in self.known:
                self.known[value] = other
            else:
                self.equal.append((value, other))
            return True
        if value in self.known:
            return self.known[value] is other
        if type(op) is not type(twin) or len(op.operands) != len(twin.operands) or isinstance(op, Reduction):
            return False
        if isinstance(op, attn.AxisOp):
            if other in self.known.values():
                return False
        elif op.properties != twin.properties:
            return False
        if not all(self.same(mine, its) for mine, its in zip(op.operands, twin.operands, strict=True)):
            return False
        self.known.update(zip(op.results, twin.results, strict=True))
        return True

    def among(self, copies: Stands) -> Matched:
        """The same of a copy of the other kernel."""
        known = {value: copies[other] for value, other in self.known.items()}
        return Matched(known, [(value, copies[other]) for value, other in self.equal])


class NotThere(Exception):
    """Something of a kernel is nothing of another, nor to be had there."""


class Moved:
    """Values of one kernel, computed in another: what is `matched`, and the rest anew."""

    def __init__(self, matched: Matched, kernel: attn.KernelOp) -> None:
        self.matched, self.kernel = matched, kernel
        self.block = kernel.body.block
        self.facts = Facts(self.block)
        self.axes = AxesAnalysis()

    def is_one_to_one(self, other: attn.KernelOp) -> bool:
        """Whether each pair of the other kernel is one of this, and the integers agree that make values the same.

        Variables are the same where their integers and extents are. Those that are left tell each other apart, stay in
        their ranges, and have as many values in all. Raises NotThere.
        """
        variables = [op for op in other.body.block.ops if isinstance(op, OF_PAIRS)]
        own: dict[SSAValue, Polynomial] = {
            op.result: self.facts.of(op.extent) for op in self.block.ops if isinstance(op, OF_PAIRS)
        }
        known = self.matched.known
        if any(op.result not in known for op in variables):
            return False
        integers = [known[op.result] for op in variables]
        if not all(self.facts.of(self.value(a)) == self.facts.of(b) for a, b in self.matched.equal):
            return False
        if not own.keys() <= Told(integers, self.block, digits=True).known:
            return False
        left = dict(own)
        product, count = number(1), number(1)
        for op, integer in zip(variables, integers, strict=True):
            extent, place = self.facts.of(self.value(op.extent)), self.facts.of(integer)
            if integer in left and left[integer] == extent:
                del left[integer]
                continue
            below = add(add(extent, place, -1), number(1), -1)
            if not all(map(self.facts.nonnegative, (extent, place, below))):
                return False
            product = self.facts.multiply(product, extent)
        for extent in left.values():
            if not self.facts.nonnegative(extent):
                return False
            count = self.facts.multiply(count, extent)
        return product == count

    def value(self, value: SSAValue) -> SSAValue:
        """What a value of the other kernel is here. Raises NotThere where it would be a contraction of each pair."""
        known = self.matched.known
        if value not in known:
            op = value.owner
            assert isinstance(op, Operation)
            if isinstance(op, (OF_PAIRS, Reduction)) or self._is_of_pairs(op):
                raise NotThere
            for operand in op.operands:
                self.value(operand)
            if isinstance(op, attn.AxisOp) and (axis := self._axis(op)) is not None:
                known[value] = axis
                return axis
            copy = self._computed(copied(op, known))
            known.update(zip(op.results, copy.results, strict=True))
            parts = self.facts.parts(copy) if isinstance(copy, arith.FloorDivSIOp | spec.ModOp) else None
            if parts is not None:
                known[value] = materialise(parts[isinstance(copy, spec.ModOp)], copy)
        return known[value]

    def _computed(self, op: Operation) -> Operation:
        """An operation as it stands here already, else put here."""
        for other in self.block.ops if not isinstance(op, attn.IndexOp) else ():
            if type(other) is type(op) and other.properties == op.properties and other.operands == op.operands:
                op.erase()  # else what it takes would have a use
                return other
        self.block.add_op(op)
        return op

    def _is_of_pairs(self, op: Operation) -> bool:
        """Whether an operation of the other kernel is a contraction for each row and key."""
        kinds = {type(variable.owner) for result in op.results for variable in self.axes(result)}
        return isinstance(op, attn.ReduceAxisOp) and attn.OverOp in kinds and attn.EachOp in kinds

    def _axis(self, op: attn.AxisOp) -> SSAValue | None:
        """A feature variable of as many values that stands for none yet: what is read along it may have been, too."""
        extent = self.facts.of(self.matched.known[op.extent])
        taken = set(self.matched.known.values())
        found = [axis for axis in self.block.ops if isinstance(axis, attn.AxisOp) and axis.result not in taken]
        return next((axis.result for axis in found if self.facts.of(axis.extent) == extent), None)


def matches(factors: list[SSAValue], host: attn.KernelOp, matched: Matched) -> Iterator[Matched]:
    """The ways in which factors are values of another kernel, besides what is `matched` already."""
    if not factors:
        yield matched
        return
    first, *others = factors
    for other in (v for op in host.body.block.ops for v in op.results if isinstance(op, type(first.owner))):
        found = Matched(dict(matched.known), list(matched.equal))
        if found.same(first, other):
            yield from matches(others, host, found)
