"""What emitters share of spelling values: expressions, what stands for a value, and the order of axes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from attndsl.backends.names import Names
from attndsl.checking.spelling import PYTHON
from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import arrangement
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import IllegalForm
from attndsl.ir.meaning import PREDICATES, predicate
from attndsl.ir.xdsl import SSAValue

COMPARISON_LEVEL = 1
ATOM = 9
"""How tightly a name, a call or a subscript binds; infix operators bind less, comparisons least."""

COMPARISON_SIGNS = {name: PYTHON.infix[operator][0] for name, operator in PREDICATES.items()}
"""Comparisons by the name of their predicate; in Python, in Triton and in the IR all but != are false of NaN."""

COMPARED = IllegalForm("with a predicate that has no sign", lambda op, axes: predicate(op) not in COMPARISON_SIGNS)
"""The comparisons that no emitter takes."""


class Text(NamedTuple):
    """An expression and how tightly its outermost operator binds."""

    code: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The code, in parentheses unless it binds at least as tightly as `level`."""
        return self.code if self.level >= level else f"({self.code})"


class Values:
    """What stands for the values of kernels: a name, or the expression that was kept for it."""

    def __init__(self, names: Names, axes: AxesAnalysis) -> None:
        self.names = names
        self.axes = axes
        self._kept: dict[SSAValue, Text] = {}
        self._order: dict[SSAValue, tuple[int, int]] = {}

    def arrange(self, kernel: tile.KernelOp) -> None:
        """Puts the axes of a kernel in the order in which all its tiles have their axes."""
        self._order |= arrangement(kernel)

    def __getitem__(self, value: SSAValue) -> Text:
        """How a value is referred to."""
        return self._kept.get(value) or Text(self.names[value])

    def keep(self, value: SSAValue, text: Text) -> None:
        """Writes `text` wherever the value is used."""
        self._kept[value] = text

    def axes_of(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """The axes of a value's tile, in the order of its kernel."""
        return self.ordered(self.axes(value))

    def ordered(self, axes: Iterable[SSAValue]) -> tuple[SSAValue, ...]:
        """Axes in the order that every tile has them in."""
        return tuple(sorted(axes, key=self._order.__getitem__))


def helpers_called(table: Iterable[str], kernels: str) -> list[str]:
    """Those of the functions of a table that the text of kernels names, in the order of the table.

    Nothing else in a kernel begins with `_`; comments, which quote a spec, have lines of their own.
    """
    code = "\n".join(line for line in kernels.splitlines() if not line.lstrip().startswith("#"))
    called = set(re.findall(r"\b_\w+", code))
    return [name for name in table if name in called]
