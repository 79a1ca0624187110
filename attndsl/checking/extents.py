"""How the extent of an input tells a dim: `B`, `B + 1`, `2 * B - 1`, `B / 2`.

Calls, generated code and the reference read dims off extents; which extent a dim is read off, and how, is decided here
for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LinearExtent:
    """An extent that is `factor * (dim / divisor) + offset`; the divisor is positive, the factor is not 0."""

    dim: str
    divisor: int = 1
    factor: int = 1
    offset: int = 0

    @property
    def rank(self) -> int:
        """0 for a dim that stands alone, 1 for one with numbers, 2 where a division may have rounded it."""
        return 2 if self.divisor > 1 else int(self != LinearExtent(self.dim))

    def at(self, value: Any) -> Any:
        """The extent for a value of the dim."""
        return self.factor * (value // self.divisor) + self.offset

    def solve(self, extent: Any) -> Any:
        """The dim for an extent; where `at` does not lead back there is none."""
        return (extent - self.offset) // self.factor * self.divisor


Term = LinearExtent | int | None
"""Part of an extent: of one dim, a number, or anything else."""


def combine(operator: str, terms: Sequence[Term]) -> Term:
    """An operator of `attndsl.checking.operators.OPERATORS` applied to parts of an extent."""
    match operator, terms:
        case "iadd", (int(left), int(right)):
            return left + right
        case ("iadd", (LinearExtent() as line, int(number))) | ("iadd", (int(number), LinearExtent() as line)):
            return LinearExtent(line.dim, line.divisor, line.factor, line.offset + number)
        case "isub", (left, int(right)):
            return combine("iadd", (left, -right))
        case "isub", (int(left), LinearExtent() as right):
            return combine("iadd", (left, combine("ineg", (right,))))
        case "ineg", (part,):
            return combine("imul", (-1, part))
        case "imul", (int(left), int(right)):
            return left * right
        case ("imul", (LinearExtent() as line, int(number))) | ("imul", (int(number), LinearExtent() as line)) if (
            number
        ):
            return LinearExtent(line.dim, line.divisor, line.factor * number, line.offset * number)
        case "idiv", (LinearExtent(factor=1, offset=0) as line, int(number)) if number > 0:
            return LinearExtent(line.dim, line.divisor * number)
    return None


@dataclass(frozen=True, slots=True)
class Origin:
    """The input and the dimension that tell a dim, and how."""

    tensor: str
    axis: int
    line: LinearExtent


def origins(inputs: Iterable[tuple[str, Sequence[Term]]]) -> dict[str, Origin]:
    """Where each dim is read off, for the names and extents of the inputs.

    That is the first extent where it stands alone; if there is none, the first with numbers; then the first divided.
    """
    found: dict[str, Origin] = {}
    for tensor, extents in inputs:
        for axis, line in enumerate(extents):
            if isinstance(line, LinearExtent) and (line.dim not in found or line.rank < found[line.dim].line.rank):
                found[line.dim] = Origin(tensor, axis, line)
    return found
