"""How long the axes of tiles are at most, as integers that a call computes before it reads data. An analysis."""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import is_launch_time
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant, copy_before, index_constant, insert_before
from attndsl.ir.sizes import is_same_size, known_limit, leaf_of
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import Operation, SSAValue, arith


class Lengths:
    """How long axes are at most, as far as that is known before a call reads data; computed before `begin`."""

    def __init__(self, begin: Operation) -> None:
        self.begin = begin
        self._copies: dict[SSAValue, SSAValue] = {}
        self._dims: dict[str, SSAValue] = {}
        self._lengths: dict[tuple[SSAValue, SSAValue], SSAValue] = {}
        self._cut: dict[SSAValue, SSAValue] = {}
        self._ranges = Ranges()
        op = begin.prev_op
        while op is not None:  # what stands there already
            if isinstance(op, arith.MinSIOp):
                self._lengths[op.lhs, op.rhs] = op.result
            elif isinstance(op, arith.MaxSIOp) and constant(op.rhs) == 0:
                self._cut[op.lhs] = op.result
            elif isinstance(op, spec.DimOp):
                self._dims[op.dim.data] = op.result
            op = op.prev_op

    def of(self, axis: SSAValue) -> SSAValue | int:
        """The smaller of an axis's size and of what else limits it; a number where that is all that is known."""
        op = axis.owner
        assert isinstance(op, tile.RangeOp)
        limit = self.limit(op)
        if limit is None and (known := constant(op.size)) is not None:
            return int(known)
        size = self._length(op.size)
        if limit is None or limit is size:
            return size
        if (limit, size) not in self._lengths:
            name = f"{op.variable.data}_size"
            self._lengths[limit, size] = insert_before(self.begin, arith.MinSIOp(limit, size), name)
        return self._lengths[limit, size]

    def whole(self, axis: SSAValue) -> SSAValue | int:
        """How long all tiles of an axis are together, as far as that is known; else how long one is."""
        assert isinstance(axis.owner, tile.RangeOp)
        limit = self.limit(axis.owner)
        return self.of(axis) if limit is None else limit

    def values(self, program: tile.ProgramOp) -> SSAValue | int:
        """How many values a program's variable has, where its steps are 1; 1 where that is not known."""
        extent = program.bound or program.extent
        return copy_before(self.begin, extent, self._copies) if is_launch_time(extent) else 1

    def product(self, lengths: Iterable[SSAValue | int]) -> tuple[int, SSAValue | None]:
        """The product of lengths: a number, times an integer where it takes one."""
        number, integer = 1, None
        for length in lengths:
            if isinstance(length, int):
                number *= length
            else:
                integer = length if integer is None else insert_before(self.begin, arith.MuliOp(integer, length))
        return number, integer

    def limit(self, axis: tile.RangeOp) -> SSAValue | None:
        """What else limits an axis, computed before."""
        found = extent_known(axis)
        if isinstance(found, str):
            if found not in self._dims:
                self._dims[found] = insert_before(self.begin, spec.DimOp(found))
            return self._dims[found]
        return self._length(found) if found is not None else None

    def _length(self, end: SSAValue) -> SSAValue:
        """How much lies before an end, computed before: nothing where that is negative."""
        value = copy_before(self.begin, end, self._copies)
        if self._ranges(value).low >= 0:
            return value
        if value not in self._cut:
            none = insert_before(self.begin, index_constant(0))
            self._cut[value] = insert_before(self.begin, arith.MaxSIOp(value, none))
        return self._cut[value]


def one_of_few(begin: Operation, size: SSAValue, most: int) -> SSAValue:
    """1 where a size is at most so much, else 0, computed before `begin`: of a choice no size would be known."""
    one = insert_before(begin, index_constant(1))
    limit, least = insert_before(begin, index_constant(most)), insert_before(begin, arith.MaxSIOp(size, one))
    return insert_before(begin, arith.MinSIOp(insert_before(begin, arith.FloorDivSIOp(limit, least)), one))


def extent_known(axis: tile.RangeOp) -> SSAValue | str | None:
    """How many rows or keys there are, or of what dim keys are places; None where a call does not know it."""
    start, loop = axis.start.owner, axis.parent_op()
    found: SSAValue | None = None
    if isinstance(start, tile.ProgramOp):
        found = start.bound or start.extent
    elif isinstance(loop, tile.LoopOp):
        found = known_limit(_before_rows(loop.ub))
        if found is None and (dim := _dim_indexed(axis.result)) is not None:
            return dim
    return found if found is not None and is_launch_time(found) else None


def _before_rows(end: SSAValue) -> SSAValue:
    """What an end is the largest of, for all rows."""
    while isinstance(end.owner, tile.MaxOp):
        end = end.owner.body
    return end


def is_long_enough(size: SSAValue, axis: tile.RangeOp) -> bool:
    """Whether a size is that of an axis, or what `Lengths` computes of it."""
    if size is axis.size:
        return True
    limit, owner = extent_known(axis), size.owner
    if limit is None or not isinstance(owner, arith.MinSIOp):
        return _is_length(size, axis.size)
    known = leaf_of(owner.lhs) == ("dim", limit) if isinstance(limit, str) else _is_length(owner.lhs, limit)
    return (known and _is_length(owner.rhs, axis.size)) or _is_length(size, axis.size)


def _is_length(value: SSAValue, end: SSAValue) -> bool:
    """Whether a value is how much lies before an end."""
    op = value.owner
    cut = isinstance(op, arith.MaxSIOp) and constant(op.rhs) == 0 and is_same_size(op.lhs, end)
    return cut or is_same_size(value, end)


def _dim_indexed(axis: SSAValue) -> str | None:
    """A dim that is the extent of a tensor in which an axis, perhaps shifted, is a place."""
    places = [axis, *(op.results[0] for op in tile.users(axis) if isinstance(op, arith.AddiOp))]
    loads = [(op, place) for place in places for op in tile.users(place) if isinstance(op, tile.LoadOp)]
    after = [op.result for op in tile.users(axis) if isinstance(op, arith.SubiOp) and op.lhs is axis]
    loads += [(op, v) for v in after for op in tile.users(v) if isinstance(op, tile.LoadOp) and op.where is None]
    for op, place in loads:
        match enclosing_tensor(op, op.tensor.string_value()).shape[list(op.indices).index(place)]:
            case ("dim", str(name)):
                return name
    return None
