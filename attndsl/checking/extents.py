"""How the extent of an input tells a dim: `B`, `B + 1`, `2 * B - 1`, `B / 2`, and `heads * B` for a parameter.

Calls, generated code and the reference read dims off extents; which extent a dim is read off, and how, is decided here
for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Coefficient = int | tuple[Any, ...]
"""A number, or an expression of parameters as `attndsl.checking.symbolic` has it."""


@dataclass(frozen=True, slots=True)
class LinearExtent:
    """An extent that is `factor * (dim / divisor) + offset`; the divisor is positive.

    A factor that is a number is not 0; of one that is made of parameters a call tells.
    """

    dim: str
    divisor: int = 1
    factor: Coefficient = 1
    offset: Coefficient = 0

    @property
    def rank(self) -> int:
        """0 for a dim that stands alone, 1 for one with numbers, 2 with parameters, 3 where a division may round."""
        if self.divisor > 1:
            return 3
        return int(self != LinearExtent(self.dim)) if self.is_of_numbers else 2

    @property
    def is_of_numbers(self) -> bool:
        """Whether no parameter stands in it: `at` and `solve` ask for that."""
        return isinstance(self.factor, int) and isinstance(self.offset, int)

    def at(self, value: Any) -> Any:
        """The extent for a value of the dim."""
        return self.factor * (value // self.divisor) + self.offset

    def solve(self, extent: Any) -> Any:
        """The dim for an extent; where `at` does not lead back there is none."""
        return (extent - self.offset) // self.factor * self.divisor


Term = LinearExtent | Coefficient | None
"""Part of an extent: of one dim, of parameters and numbers, or anything else."""


def combine(operator: str, terms: Sequence[Term]) -> Term:
    """An operator of `attndsl.checking.operators.OPERATORS` applied to parts of an extent."""
    match operator, terms:
        case "iadd", (int(left), int(right)):
            return left + right
        case "imul", (int(left), int(right)):
            return left * right
        case "isub", (int(left), int(right)):
            return left - right
        case "ineg", (int(number),):
            return -number
        case _, _ if any(isinstance(term, tuple) for term in terms) and all(
            isinstance(term, int | tuple) for term in terms
        ):
            return (operator, *terms)
        case ("iadd", (LinearExtent() as line, int() | tuple() as more)) | (
            "iadd",
            (int() | tuple() as more, LinearExtent() as line),
        ):
            return replace(line, offset=_sum(line.offset, more))
        case "iadd", (LinearExtent() as line, LinearExtent() as more) if (line.dim, line.divisor) == (
            more.dim,
            more.divisor,
        ):
            factor = _sum(line.factor, more.factor)
            return replace(line, factor=factor, offset=_sum(line.offset, more.offset)) if factor != 0 else None
        case "isub", (LinearExtent() as line, LinearExtent() as less):
            return combine("iadd", (line, combine("ineg", (less,))))
        case "isub", (LinearExtent() as line, int() | tuple() as less):
            return replace(line, offset=_sum(line.offset, _product(-1, less)))
        case "isub", (int() | tuple() as left, LinearExtent() as right):
            return combine("iadd", (left, combine("ineg", (right,))))
        case "ineg", (part,):
            return combine("imul", (-1, part))
        case ("imul", (LinearExtent() as line, int() | tuple() as by)) | (
            "imul",
            (int() | tuple() as by, LinearExtent() as line),
        ) if by != 0:
            return replace(line, factor=_product(by, line.factor), offset=_product(by, line.offset))
        case "idiv", (LinearExtent(factor=1, offset=0) as line, int(number)) if number > 0:
            return LinearExtent(line.dim, line.divisor * number)
    return None


def _sum(left: Coefficient, right: Coefficient) -> Coefficient:
    match left, right:
        case int(), int():
            return left + right
        case 0, _:
            return right
        case _, 0:
            return left
        case _, ("ineg", less):
            return ("isub", left, less)
    return ("iadd", left, right)


def _product(left: Coefficient, right: Coefficient) -> Coefficient:
    match left, right:
        case int(), int():
            return left * right
        case (1, other) | (other, 1):
            return other
        case (0, _) | (_, 0):
            return 0
        case (-1, other) | (other, -1):
            return ("ineg", other)
    return ("imul", left, right)


@dataclass(frozen=True, slots=True)
class Origin:
    """The input and the dimension that tell a dim, and how."""

    tensor: str
    axis: int
    line: LinearExtent


def origins(inputs: Iterable[tuple[str, Sequence[Term]]]) -> dict[str, Origin]:
    """Where each dim is read off, for the names and extents of the inputs.

    That is the first extent where it stands alone; if there is none, the first with numbers; then the first with
    parameters; then the first divided.
    """
    found: dict[str, Origin] = {}
    for tensor, extents in inputs:
        for axis, line in enumerate(extents):
            if isinstance(line, LinearExtent) and (line.dim not in found or line.rank < found[line.dim].line.rank):
                found[line.dim] = Origin(tensor, axis, line)
    return found
