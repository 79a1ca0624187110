"""Along which axes a call may be cut into calls that know nothing of each other, proved on the typed spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Read,
    ReduceAxis,
    Spec,
    operands,
    walk,
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Tensors that are cut together, each along an axis, by name; the others go to every part whole.

    Where it is `even`, all parts have to be of one size: so heads are cut that share keys.
    """

    axes: Mapping[str, int]
    even: bool


def cuts(spec: Spec) -> tuple[Cut, ...]:
    """The ways to cut calls of a spec, each by a dim, or by several that are in proportion.

    A dim will do which stands for the whole axis of a tensor and nothing else, and along which every block has rows
    that read and write at their own index alone, or, where heads share keys, at that of their group.
    """
    groups = {frozenset(_Group(spec, {dim}).dims) for dim in spec.dims}
    ordered = sorted(groups, key=lambda dims: min(map(spec.dims.index, dims)))
    found = (_Group(spec, {*dims}).cut() for dims in ordered)
    return tuple(cut for cut in found if cut is not None)


class _Cannot(Exception):
    """A group of dims along which calls cannot be cut."""


class _Group:
    """Dims that are cut together: those by whose quotient an index is divided belong together."""

    def __init__(self, spec: Spec, dims: set[str]) -> None:
        self._spec = spec
        self.dims = dims
        pairs = [pair for block in spec.blocks for expr in _all(block) if (pair := _grouped(expr))]
        while more := {dim for _, *pair in pairs if {*pair} & dims for dim in pair} - dims:
            dims |= more

    def cut(self) -> Cut | None:
        """How tensors are cut along these dims; None where they are not."""
        try:
            self._check_conditions()
            axes = {name: axis for name, tensor in self._spec.tensors.items() for axis in self._axis(tensor.extents)}
            for block in self._spec.blocks:
                self._check(block, axes)
        except _Cannot:
            return None
        seen = {tensor.name for tensor in (*self._spec.inputs, *self._spec.outputs)}
        return Cut({name: axis for name, axis in axes.items() if name in seen}, len(self.dims) > 1)

    def _is_of(self, expr: Expr) -> bool:
        return isinstance(expr, DimValue) and expr.name in self.dims

    def _refuse(self, *exprs: Expr) -> None:
        if any(map(self._is_of, walk(*exprs))):
            raise _Cannot

    def _axis(self, extents: tuple[Expr, ...]) -> list[int]:
        """The axis that is cut, if any is."""
        found = [axis for axis, extent in enumerate(extents) if self._is_of(extent)]
        self._refuse(*(extent for axis, extent in enumerate(extents) if axis not in found))
        if len(found) > 1:
            raise _Cannot
        return found

    def _check_conditions(self) -> None:
        """What a call has to meet, its parts meet too."""
        self._refuse(*(param.formula for param in self._spec.params if param.formula is not None))
        for condition in self._spec.requires:
            match condition:
                case Apply(operator="ine", arguments=(Apply(operator="idiv", arguments=parts), Constant(value=0))):
                    met = all(map(self._is_of, parts))  # a divisor
                case Apply(operator="ine", arguments=(part, Constant(value=0))):
                    met = self._is_of(part)
                case _:
                    met = {*(_divided(condition) or "?")} <= self.dims
            if not met:
                self._refuse(condition)

    def _check(self, block: Block, axes: Mapping[str, int]) -> None:
        """Raises _Cannot unless each row reads and writes what is cut at its own index, and nothing rests on that."""
        rows = [index for index in block.each if self._is_of(index.extent)]
        if len(rows) > 1 or any(not _same(index.extent, index.bound) for index in rows):
            raise _Cannot
        row = rows[0] if rows else None
        for index in _indices(block):
            if index is not row:
                self._check_value(index.extent, axes, row)
                self._check_value(index.bound, axes, row)
        for write in block.writes:
            axis = axes.get(write.tensor.name)
            if (axis is None) != (row is None):
                raise _Cannot  # rows of several parts would meet, or a part would write all
            for number, place in enumerate(write.indices):
                if number != axis:
                    self._check_value(place, axes, row)
                elif not self._is_own(place, write.tensor.extents[number], row, write.adds):
                    raise _Cannot
            self._check_value(write.value, axes, row)

    def _check_value(self, value: Expr, axes: Mapping[str, int], row: Index | None) -> None:
        def through(expr: Expr) -> tuple[Expr, ...]:
            if not isinstance(expr, Read) or (axis := axes.get(expr.tensor.name)) is None:
                return operands(expr)
            if not self._is_own(expr.indices[axis], expr.tensor.extents[axis], row, True):
                raise _Cannot
            return tuple(place for number, place in enumerate(expr.indices) if number != axis)

        for expr in walk(value, through=through):
            if self._is_of(expr) or (isinstance(expr, IndexValue) and expr.index is row):
                raise _Cannot

    def _is_own(self, place: Expr, extent: Expr, row: Index | None, shared: bool) -> bool:
        """Whether a subscript is the row's index, or, where rows may share, that of its group."""
        match place:
            case IndexValue(index=index):
                return index is row and _same(index.extent, extent)
        pair = _grouped(place)
        if not shared or pair is None or pair[0] is not row or not isinstance(extent, DimValue):
            return False
        return pair[2] == extent.name and pair[1:] in [*map(_divided, self._spec.requires)]


def _grouped(expr: Expr) -> tuple[Index, str, str] | None:
    """Of `h / (H / G)`, where `h` goes up to H, the variable and the names of H and G."""
    match expr:
        case Apply(
            operator="idiv",
            arguments=(
                IndexValue(index=index),
                Apply(operator="idiv", arguments=(DimValue(name=whole), DimValue(name=groups))),
            ),
        ) if isinstance(index.extent, DimValue) and index.extent.name == whole:
            return index, whole, groups
    return None


def _divided(condition: Expr) -> tuple[str, str] | None:
    """Of the condition `H % G == 0` the names of H and G."""
    match condition:
        case Apply(
            operator="ieq",
            arguments=(
                Apply(operator="imod", arguments=(DimValue(name=whole), DimValue(name=groups))),
                Constant(value=0),
            ),
        ):
            return whole, groups
    return None


def _same(one: Expr, other: Expr) -> bool:
    return isinstance(one, DimValue) and isinstance(other, DimValue) and one.name == other.name


def _all(block: Block) -> Iterator[Expr]:
    return walk(*(expr for write in block.writes for expr in (*write.indices, write.value)))


def _indices(block: Block) -> Iterator[Index]:
    """The variables of a block: its rows, its keys, and the axes of what it writes and reduces."""
    yield from (*block.each, *block.over)
    for write in block.writes:
        yield from write.axes
    for expr in _all(block):
        if isinstance(expr, ReduceAxis):
            yield expr.index
