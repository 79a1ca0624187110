"""Between what integers lie, and whether computing them can leave 64 bits. An analysis; it changes nothing.

It rests on what every call keeps: a size is at most `LARGEST_SIZE`, another parameter `LARGEST_PARAMETER` from 0, what
is read fits its element type. No loop runs so far that an index variable passes `LARGEST_SIZE`. And on what the manual
says of sizes: a product of integers that are made of sizes and index variables is taken to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attndsl.checking.numbers import LARGEST_PARAMETER, LARGEST_SIZE
from attndsl.ir import attn, spec, tile
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, index
from attndsl.storage import ELEMENTS

LARGEST_CHOICE = 2**12
"""A launch chooses no more rows or keys of a tile, or splits of the keys."""

LARGEST_PRODUCT = 2**56
"""What a product of sizes is taken to be within, where those alone do not tell that it fits."""


class Range(NamedTuple):
    """The least and the largest of some integers."""

    low: int
    high: int

    @classmethod
    def of(cls, values: Iterable[int]) -> Range:
        """What holds all of the values."""
        found = list(values)
        return cls(min(found), max(found))

    @property
    def fits(self) -> bool:
        """Whether 64 bits hold all of it."""
        return self.low >= INT64.low and self.high <= INT64.high


INT64 = Range(-(2**63), 2**63 - 1)

IDENTITY = 2**63 - 1
"""The identity element of an integer minimum, and negated of a maximum; it takes part in no arithmetic."""


class Ranges:
    """The ranges of integers, remembered. Valid while the module does not change, or values are replaced by equal ones.

    `elements` are the element types of tensors, of which a module that is still being built has no declarations.
    """

    def __init__(self, elements: Mapping[str, str] | None = None) -> None:
        self._elements = elements
        self._known: dict[SSAValue, Range] = {}
        self._fits: dict[SSAValue, bool] = {}
        self._sizes: dict[SSAValue, bool] = {}

    def __call__(self, value: SSAValue) -> Range:
        """Where the values of an integer lie, once it has wrapped."""
        # An explicit stack: chains of operations are longer than Python's recursion allows.
        stack = [value] if value not in self._known else []
        while stack:
            top = stack[-1]
            needed = [v for v in _sources(top) if v not in self._known] if top not in self._known else []
            if needed:
                stack.extend(needed)
                continue
            stack.pop()
            if top not in self._known:
                exact = self._exact(top)
                self._fits[top] = exact.fits
                self._known[top] = exact if exact.fits else INT64
        return self._known[value]

    def fits(self, value: SSAValue) -> bool:
        """Whether an integer, computed from its operands without bounds, is what it is in 64 bits."""
        self(value)
        return self._fits[value]

    def _exact(self, value: SSAValue) -> Range:
        known, op = constant(value), value.owner
        if known is not None:
            return Range(int(known), int(known))
        if isinstance(op, Block | tile.LoopOp):
            loop = op.parent_op() if isinstance(op, Block) else op
            if isinstance(loop, tile.LoopOp) and value is loop.body.block.args[0]:
                return Range(min(0, self._known[loop.lb].low), LARGEST_SIZE)
            carried = _sources(value)
            return Range.of(end for v in carried for end in self._known[v]) if carried else INT64
        match op:
            case spec.DimOp() | spec.ParamOp() if spec.is_size(op):
                return Range(0, LARGEST_SIZE)
            case tile.PaddedOp():
                return Range(0, LARGEST_SIZE)
            case tile.PackOp():
                return Range(1, LARGEST_SIZE)
            case spec.ChoiceOp():
                return Range(1, LARGEST_CHOICE)
            case spec.ParamOp():
                return Range(1 if _is_assumed_positive(value) else -LARGEST_PARAMETER, LARGEST_PARAMETER)
            case attn.IndexOp() | tile.ProgramOp() | tile.OuterLoopOp():
                bound = op.bound if not isinstance(op, tile.OuterLoopOp) else None
                extents = [op.extent, *([bound] if bound is not None else [])]
                return Range(0, max(0, min(LARGEST_SIZE, *(self._known[v].high - 1 for v in extents))))
            case tile.RangeOp():
                return Range(0, max(0, min(LARGEST_SIZE, self._known[op.stop].high - 1)))
            case attn.ReadOp() | tile.LoadOp():
                return self._element(op)
            case tile.IdentityOp():
                return Range(op.in_64_bits, op.in_64_bits)
            case tile.BroadcastOp() | tile.RenameAxisOp() | tile.RepeatOp() | tile.FlattenOp():
                return self._known[op.value]
            case tile.MaxOp() | tile.MinOp():  # a tile has at least one row and one key
                return self._known[op.body]
            case arith.SelectOp():
                chosen = [v for v in (op.lhs, op.rhs) if not is_identity(v, op)]
                return Range.of(end for v in chosen or (op.lhs, op.rhs) for end in self._known[v])
            case arith.MuliOp() if (whole := self._multiple(op)) is not None:
                return whole
            case arith.MuliOp() if all(map(self._is_size, op.operands)):
                found = _multiply(*(self._known[v] for v in op.operands))
                return found if found.fits else Range(0 if found.low >= 0 else -LARGEST_PRODUCT, LARGEST_PRODUCT)
        combine = _COMBINED.get(type(op))
        return combine(*(self._known[v] for v in op.operands)) if combine is not None else INT64

    def _element(self, op: attn.ReadOp | tile.LoadOp) -> Range:
        """What the element type of a tensor holds."""
        if self._elements is None:
            self._elements = {t.sym_name.data: t.element.data for t in spec.declarations(op, spec.TensorOp)}
        limits = np.iinfo(ELEMENTS[self._elements[op.tensor.string_value()]].dtype)
        return Range(int(limits.min), int(limits.max))

    def _multiple(self, op: arith.MuliOp) -> Range | None:
        """The range of (a / b) * b, which is a or less by what is left over; None of any other product."""
        quotient = op.lhs.owner
        if not isinstance(quotient, arith.FloorDivSIOp) or quotient.rhs is not op.rhs or self._known[op.rhs].low < 0:
            return None
        whole = self._known[quotient.lhs]
        return Range(whole.low - max(0, self._known[op.rhs].high - 1), whole.high)

    def _is_size(self, value: SSAValue) -> bool:
        """Whether an integer is made of sizes and index variables, and is no number.

        Or is no larger than such, and not far below 0: a length that is read is brought within dims first.
        """
        if value not in self._sizes:
            op = value.owner
            given = attn.IndexOp | tile.ProgramOp | tile.OuterLoopOp | tile.RangeOp | spec.ChoiceOp | tile.PaddedOp
            parts = [v for v in _sources(value) if constant(v) is None] if _computes(op) else []
            made = isinstance(op, given) or spec.is_size(op) or (bool(parts) and all(map(self._is_size, parts)))
            made = made or (self._known[value].low >= -LARGEST_SIZE and self._is_below_size(value))
            self._sizes[value] = made or (isinstance(op, Block) and value is op.args[0])
        return self._sizes[value]

    def _is_below_size(self, value: SSAValue) -> bool:
        """Whether an integer is no larger than one that is made of dims and index variables."""

        def below(operand: SSAValue) -> bool:
            return self._is_size(operand) or self._is_below_size(operand)

        op = value.owner
        match op:
            case arith.MinSIOp():
                return any(map(below, op.operands))
            case arith.MaxSIOp():
                return all(constant(v) is not None or below(v) for v in op.operands)
            case arith.SubiOp():
                return self._known[op.rhs].low >= 0 and below(op.lhs)
            case tile.MaxOp() | tile.MinOp():
                return below(op.body)
        return False


def _is_assumed_positive(value: SSAValue) -> bool:
    """Whether every call keeps that an integer is above 0, or above a larger number, as the spec requires."""
    for test in (use.operation for use in value.uses):
        if isinstance(test, arith.CmpiOp) and any(isinstance(use.operation, spec.AssumeOp) for use in test.result.uses):
            least = constant(test.rhs if test.lhs is value else test.lhs)
            if least is not None and least >= 0 and predicate(test) == ("sgt" if test.lhs is value else "slt"):
                return True
    return False


def is_identity(value: SSAValue, user: Operation) -> bool:
    """Whether `user` takes a value as the integer that stands for no value, in the largest or the least of some."""
    if isinstance(value.owner, tile.IdentityOp):
        return True
    return value.type == index and abs(constant(value) or 0) >= IDENTITY and _leaves_out(user)


def _leaves_out(op: Operation) -> bool:
    """Whether an operation selects of what there is a largest or a least; a spec's own numbers may be as large."""
    extreme = tile.MaxOp | tile.MinOp
    users = tile.users(op.results[0]) if isinstance(op, arith.SelectOp) else []
    return bool(users) and all(isinstance(user, extreme) or _leaves_out(user) for user in users)


def _computes(op: Operation | Block) -> bool:
    """Whether an operation makes an integer of integers."""
    return type(op) in _COMBINED or isinstance(op, arith.SelectOp | tile.MaxOp | tile.MinOp | tile.BroadcastOp)


def _sources(value: SSAValue) -> list[SSAValue]:
    """The integers that the range of one rests on."""
    op = value.owner
    loop = op.parent_op() if isinstance(op, Block) else op
    if isinstance(loop, tile.LoopOp):
        variable, *states = loop.body.block.args
        return [loop.lb] if value is variable else _merged(loop, value, states)
    if isinstance(op, Block) or op.regions or type(op) in _GIVEN:
        return []
    if type(op) in (tile.MaxOp, tile.MinOp):
        return [op.operands[0]]
    return [v for v in op.operands if v.type == index]


_GIVEN = frozenset({attn.ReadOp, tile.LoadOp, spec.ChoiceOp, tile.PaddedOp})
"""What gives integers whose range rests on no others."""


def _corners(function: Callable[[int, int], int], a: Range, b: Range) -> Range:
    """What a function that rises or falls with each operand makes of two ranges."""
    return Range.of(function(x, y) for x in a for y in b)


def _merged(loop: tile.LoopOp, value: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """What a loop starts from and what comes, where it carries the least or the largest of them; else none."""
    carried: Sequence[SSAValue] = states if value in states else loop.results
    place = carried.index(value)
    end = loop.end.values[place].owner
    if not isinstance(end, arith.MinSIOp | arith.MaxSIOp) or states[place] not in end.operands:
        return []
    return [loop.iter_args[place], *(v for v in end.operands if v is not states[place])]


def _multiply(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x * y, a, b)


def _divide(a: Range, b: Range) -> Range:
    """The quotients, rounded down; what is divided by 0 is 0."""
    if b.low > 0 or b.high < 0:
        return _corners(lambda x, y: x // y, a, b)
    largest = max(abs(a.low), abs(a.high))
    return Range(0 if a.low >= 0 and b.low >= 0 else -largest, largest)


def _remainder(a: Range, b: Range) -> Range:
    high = max(0, b.high - 1)
    return Range(min(0, b.low + 1), min(high, a.high) if a.low >= 0 and b.low > 0 else high)


def _and(a: Range, b: Range) -> Range:
    positive = [each.high for each in (a, b) if each.low >= 0]
    return Range(0, min(positive)) if positive else _bits(a, b)


def _bits(a: Range, b: Range) -> Range:
    """All that has no more bits than two integers."""
    most = 1 << max((~x if x < 0 else x).bit_length() for x in (*a, *b))
    return Range(0 if a.low >= 0 and b.low >= 0 else -most, most - 1)


def _shift(a: Range, by: Range, function: Callable[[int, int], int]) -> Range:
    """Distances of less than 0 and of 64 and more are never reached."""
    return _corners(function, a, Range(*(min(max(n, 0), 63) for n in by)))


_COMBINED: dict[type[Operation], Callable[[Range, Range], Range]] = {
    arith.AddiOp: lambda a, b: Range(a.low + b.low, a.high + b.high),
    arith.SubiOp: lambda a, b: Range(a.low - b.high, a.high - b.low),
    arith.MuliOp: _multiply,
    arith.FloorDivSIOp: _divide,
    spec.ModOp: _remainder,
    arith.MinSIOp: lambda a, b: Range(min(a.low, b.low), min(a.high, b.high)),
    arith.MaxSIOp: lambda a, b: Range(max(a.low, b.low), max(a.high, b.high)),
    arith.AndIOp: _and,
    arith.OrIOp: _bits,
    arith.XOrIOp: _bits,
    arith.ShLIOp: lambda a, by: _shift(a, by, lambda x, n: x << n),
    arith.ShRSIOp: lambda a, by: _shift(a, by, lambda x, n: x >> n),
}
"""What operations on two integers make of ranges, before anything wraps."""
