"""Typed extents as `attndsl.checking.extents` wants them; apart from it, so that a cached op loads no typed classes."""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.checking import symbolic
from attndsl.checking.extents import LinearExtent, Term
from attndsl.checking.plain import plain
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, Tensor


def line_of(extent: Expr) -> Term:
    """A typed extent as far as it is of one dim."""
    return symbolic.line_of(plain(extent))


def lines_of(tensor: Tensor) -> list[Term]:
    """What each extent of an input tells: one that a call may give as 1 tells nothing."""
    return [None if axis in tensor.broadcast else line_of(extent) for axis, extent in enumerate(tensor.extents)]


def is_exact(line: LinearExtent, requires: Iterable[Expr]) -> bool:
    """Whether its division does not round, as one of a spec's conditions says: `require D % 32 == 0`."""
    return line.divisor == 1 or any(_divides(line, condition) for condition in requires)


def _divides(line: LinearExtent, condition: Expr) -> bool:
    match condition:
        case Apply(operator="and", arguments=parts):
            return any(_divides(line, part) for part in parts)
        case (
            Apply(operator="ieq", arguments=(left, right))
            | Apply(operator="not", arguments=(Apply(operator="ine", arguments=(left, right)),))
        ):
            return _is_multiple(line, left, right) or _is_multiple(line, right, left)
    return False


def _is_multiple(line: LinearExtent, rest: Expr, nothing: Expr) -> bool:
    """Whether `rest` is what is left over where the dim is divided, or more, if there is `nothing` of it."""
    match nothing, rest:
        case Constant(value=0), Apply(operator="imod", arguments=(DimValue(name=line.dim), Constant(value=int(by)))):
            return by % line.divisor == 0
    return False
