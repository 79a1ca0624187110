"""What an index adds to an address: what is the same for a whole tile, and what differs within it. An analysis.

An address has 64 bits, yet elements of one tile mostly lie close together. So the part of an index that is the same for
the tile is added to the pointer in 64 bits, once, and what differs from element to element, a place in the tile times
a stride, in 32, at launches whose strides allow it. Of a loop over keys only the first part changes: the second is
computed before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.analyses.facts import read
from attndsl.ir.analyses.widths import LARGEST_TILE, Widths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Operation, SSAValue, arith


@dataclass
class Place:
    """An index as a sum: how often each value of `shared` counts, which is the same for the tile, and the others.

    Of a lane in `counted` counts how far it is from its start; a value of `small` counts as it is. All those are at
    most `bound`, taken together.
    """

    shared: Counter[SSAValue] = field(default_factory=Counter)
    counted: list[tile.LaneOp] = field(default_factory=list)
    small: list[SSAValue] = field(default_factory=list)
    bound: int = 0


class Places:
    """The indices of a kernel taken apart, each once. Valid while the module does not change."""

    def __init__(self, axes: AxesAnalysis, widths: Widths) -> None:
        self._axes = axes
        self._widths = widths
        self._known: dict[SSAValue, Place | None] = {}

    def __call__(self, value: SSAValue) -> Place | None:
        """An index taken apart, None where what differs within the tile has no bound that is known before a launch."""
        if value not in self._known:
            place = Place()
            found = _collect(value, 1, place, self._axes, self._widths)
            place.shared = Counter({value: count for value, count in place.shared.items() if count})
            self._known[value] = place if found else None
        return self._known[value]

    def read(self, op: Operation) -> Iterator[SSAValue]:
        """The values that an operation takes: of an index that is taken apart its parts, and not the whole."""
        indices = op.indices if isinstance(op, tile.LoadOp | tile.StoreOp) else ()
        yield from (value for value in read(op) if value not in indices)
        for value in indices:
            place = self(value)
            if place is None:
                yield value
                continue
            yield from (*place.shared, *place.small, *(lane.size for lane in place.counted))


def _collect(value: SSAValue, sign: int, place: Place, axes: AxesAnalysis, widths: Widths) -> bool:
    """Adds an index to a place, once or, where `sign` is -1, less once; says whether it could."""
    op = value.owner
    if not axes(value):
        place.shared[value] += sign
        return True
    bound = widths.bound(value)
    match op:
        case _ if sign > 0 and bound is not None and set(bound) <= {()}:
            place.small.append(value)
            place.bound += bound[()]
            return True
        case tile.LaneOp() if sign > 0:
            place.shared[op.start] += 1
            place.counted.append(op)
            place.bound += int(constant(op.size) or LARGEST_TILE)
            return True
        case arith.AddiOp() | arith.SubiOp():
            second = -sign if isinstance(op, arith.SubiOp) else sign
            return _collect(op.lhs, sign, place, axes, widths) and _collect(op.rhs, second, place, axes, widths)
    return False
