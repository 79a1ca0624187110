"""When tiles are read: whether one may be written where another one lies. An analysis.

Points in time are operations, in the order in which they stand. A tile is alive from the operation that makes it to its
last read. What is read in a loop and made outside is alive in all of the loop, since the next iteration reads it again;
what a loop carries lives on as the loop's argument, from its begin, and as its result, behind its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf


@dataclass
class Life:
    """When a tile is alive: `kept` are points at which it must stay as it is, `last` the values last read at a point.

    A tile goes by several values: a loop that carries it has an argument and a result of its own for it.
    """

    kept: set[int] = field(default_factory=set)
    last: dict[int, list[SSAValue]] = field(default_factory=dict)


class Liveness:
    """The lives of a kernel's tiles. Valid while the kernel does not change."""

    def __init__(self, kernel: tile.KernelOp) -> None:
        self.axes = AxesAnalysis()
        self._point = {op: point for point, op in enumerate(kernel.walk())}
        self._lives: dict[SSAValue, Life] = {}

    def clash(self, first: SSAValue, second: SSAValue) -> bool:
        """Whether two tiles, each the result of an operation, cannot live in one place.

        A tile clashes with itself where a loop makes the next one while the one before is still read.
        """
        return self._spoils(first, second) or self._spoils(second, first)

    def _spoils(self, written: SSAValue, other: SSAValue) -> bool:
        """Whether something would be read of `other` after `written` has been written over it."""
        maker, life = written.owner, self._life(other)
        assert isinstance(maker, Operation)
        point = self._point[maker]
        read = life.last.get(point, ())
        return point in life.kept or not all(overwrites(maker, value, self.axes) for value in read)

    def _life(self, value: SSAValue) -> Life:
        if value not in self._lives:
            life = self._lives[value] = Life()
            assert isinstance(value.owner, Operation)
            begins = {value: self._point[value.owner]}
            waiting = [value]
            while waiting:
                name = waiting.pop()
                self._live(life, name, begins[name])
                carried = [found for found in self._carried(name) if found[0] not in begins]
                begins.update(carried)
                waiting += [other for other, _ in carried]
        return self._lives[value]

    def _live(self, life: Life, value: SSAValue, begin: int) -> None:
        """Adds how long a tile is alive under one of its names."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        kept = last = begin
        for op in tile.users(value):
            top = op
            while top.parent is not block:
                parent = top.parent_op()
                assert parent is not None
                top = parent
            if top is not op:
                kept = max(kept, self._end(top))
            elif isinstance(op, tile.YieldOp | scf.YieldOp | tile.LoopOp):
                kept = max(kept, self._point[op])  # and from there on by another name
            else:
                last = max(last, self._point[op])
        life.kept.update(range(begin + 1, max(kept + 1, last)))
        if last > begin:
            life.last.setdefault(last, []).append(value)

    def _end(self, op: Operation) -> int:
        """The last point of an operation, with all that stands in it."""
        return self._point[op] if not op.regions else max(self._point[inner] for inner in op.walk())

    def _carried(self, value: SSAValue) -> Iterator[tuple[SSAValue, int]]:
        """The values that a tile goes by where a loop or a choice passes it on, each with the point where it begins."""
        for use in value.uses:
            op, loop = use.operation, use.operation.parent_op()
            if isinstance(op, tile.LoopOp) and 0 <= use.index - 3 < len(op.iter_args):  # after its start, end and step
                number = use.index - 3
            elif isinstance(op, tile.YieldOp | scf.YieldOp) and loop is not None:
                op, number = loop, use.index
            else:
                continue
            if isinstance(op, tile.LoopOp):
                yield op.body.block.args[number + 1], self._point[op]
            yield op.results[number], self._end(op)


def overwrites(op: Operation, operand: SSAValue, axes: AxesAnalysis) -> bool:
    """Whether an operation may write its tile over an operand: each element is made of the same one of that."""
    return is_elementwise(op) and axes(operand) == axes(op.results[0])
