"""Slices: parts of axes, of an extent that is the same for a whole call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attndsl import diagnostics as errors
from attndsl.checking.constants import may_be_in_range
from attndsl.checking.context import Context
from attndsl.checking.typed import Expr
from attndsl.checking.values import Value
from attndsl.syntax import tree


class Ends(NamedTuple):
    """A slice as it is written, `2 : D`; of `:` both ends are left out."""

    written: tree.Whole | tree.Slice
    start: Expr | None
    stop: Expr | None


Subscripts = Sequence[Expr | Ends]


@dataclass(frozen=True, slots=True)
class Part:
    """Elements of an axis: `extent` of them, from `start` on, or from 0."""

    start: Expr | None
    extent: Expr


def indices(subscripts: Subscripts) -> list[Expr | None]:
    """The integers among subscripts, and None for what keeps an axis."""
    return [None if isinstance(each, Ends) else each for each in subscripts]


def parts(context: Context, subscripts: Subscripts, axes: Sequence[Expr]) -> list[Part] | None:
    """What the slices among subscripts take of these axes, an axis each; None where an error has been reported."""
    taken = [each for each in subscripts if isinstance(each, Ends)]
    found = [_part(context, ends, axis) for ends, axis in zip(taken, axes, strict=True)]
    sound = [part for part in found if part is not None]
    return sound if len(sound) == len(found) else None


def _part(context: Context, ends: Ends, axis: Expr) -> Part | None:
    span = ends.written.span
    extent = axis if ends.stop is None else ends.stop
    if ends.start is not None:
        if not may_be_in_range(context, [span], [ends.start], [axis]):
            return None
        extent = context.arithmetic.add(extent, ends.start, span, -1)
    if not context.graph.facts(extent).uniform:
        context.report(errors.shapes.SliceExtent(span))
        return None
    return Part(ends.start, extent)


def places(context: Context, taken: Sequence[Part], where: Sequence[Expr], written: tree.Node) -> tuple[Expr, ...]:
    """The index on each whole axis of an element that is at `where` in its parts."""
    return tuple(
        at if part.start is None else context.arithmetic.add(part.start, at, written.span)
        for part, at in zip(taken, where, strict=True)
    )


def sliced(context: Context, value: Value, taken: Sequence[Part], written: tree.Node) -> Value:
    """The parts of a value's axes."""
    axes = tuple(part.extent for part in taken)
    return Value(value.kind, axes, lambda where: value.at(places(context, taken, where, written)))
