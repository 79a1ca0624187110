"""Subscripts that are numbers: some are out of range whatever a call gives."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl import diagnostics as errors
from attndsl.checking.context import Context
from attndsl.checking.reads import certain_reads
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Apply, Constant, DimValue, Expr
from attndsl.checking.values import Value
from attndsl.syntax import tree
from attndsl.syntax.source import Span


def may_be_in_range(
    context: Context,
    written: Sequence[Span],
    subscripts: Sequence[Expr | None],
    extents: Sequence[Expr | None],
) -> bool:
    """Whether each subscript that is a number may lie below its extent, where it has one; reports those that cannot."""
    sound = True
    for span, index, extent in zip(written, subscripts, extents, strict=True):
        if not isinstance(index, Constant) or extent is None:
            continue
        if index.value < 0:
            one = context.graph.constant(1, span)
            last = expression_text(context.arithmetic.add(extent, one, span, -1))
            context.report(errors.shapes.NegativeIndex(span, index=int(index.value), last=last))
            sound = False
        elif isinstance(extent, Constant) and index.value >= extent.value:
            context.report(errors.shapes.IndexTooLarge(span, index=int(index.value), extent=int(extent.value)))
            sound = False
    return sound


def may_be_present(context: Context, node: tree.Subscripted, subscripts: Sequence[Expr | None], value: Value) -> bool:
    """Whether a definition may have a value at negative numbers, if it is given any; reports where not.

    That one takes them says nothing: its right side may read below 0 at them, or not.
    """
    for written, index in zip(node.subscripts, subscripts, strict=True):
        if isinstance(index, Constant) and index.value < 0:
            _, body = context.axes.bind(value.axes, node.span, value.at)
            if any(_below_zero(at) for at, _ in certain_reads(body)):
                context.report(errors.shapes.NegativeIndex(written.span, index=int(index.value), last=""))
                return False
    return True


def _below_zero(expr: Expr) -> bool:
    """Whether an int is negative at every call, as far as signs tell: a dim that divides is required not to be 0."""
    match expr:
        case Constant(value=value):
            return value < 0
        case Apply(operator="idiv", arguments=(left, DimValue())):
            return _below_zero(left)
        case Apply(operator="idiv", arguments=(left, Constant(value=divisor))):
            return divisor > 0 and _below_zero(left)
    return False
