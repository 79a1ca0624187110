"""Which axes of an output lie in memory as which of an input, where a schedule says `layout = q`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.checking.plain import plain
from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import Tensor

LAYOUT = "layout"
"""The setting whose value is an input."""

Counterparts = tuple[int | None, ...]
"""For each axis of an output the axis of an input that it stands for; None for those that are outermost."""


def following(tensors: Mapping[str, Tensor], schedule: Mapping[str, int | str]) -> dict[str, Counterparts]:
    """The outputs among declared tensors that lie as the input does of which a schedule says that, by their names."""
    like = schedule.get(LAYOUT)
    if not isinstance(like, str):
        return {}
    input_ = [plain(extent) for extent in tensors[like].extents]
    outputs = {t.name: [plain(extent) for extent in t.extents] for t in tensors.values() if t.role == "output"}
    found = ((name, counterparts(output, input_)) for name, output in outputs.items())
    return {name: axes for name, axes in found if axes is not None}


def counterparts(output: Sequence[Expression], input_: Sequence[Expression]) -> Counterparts | None:
    """The axes of an input that those of an output stand for, by the extents of both; None where some axis has none.

    Axes of one extent are counterparts, in their order, and then those at the same place from the last. What stands
    before all that have one, as the axis of a batch of calls, is outermost.
    """
    axes: list[int | None] = []
    for extent in output:
        axes.append(next((n for n, other in enumerate(input_) if other == extent and n not in axes), None))
    for place, axis in enumerate(axes):
        opposite = place - len(output) + len(input_)
        if axis is None and opposite >= 0 and opposite not in axes:
            axes[place] = opposite
    known = [place for place, axis in enumerate(axes) if axis is not None]
    return tuple(axes) if known and None not in axes[known[0] :] else None
