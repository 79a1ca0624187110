"""Errors of index variables and of where statements stand."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class NotUniform(Diagnostic):
    place: str

    code = "E401"
    message = "{place} must be made of dims, parameters and numbers"
    label = "depends on an index or on data"


@dataclass(frozen=True)
class NoBound(Diagnostic):
    name: str

    code = "E402"
    message = "nothing bounds `{name}`, whose extent rests on data or an index"
    label = "how large can it be?"
    note = "a bound follows from the tensors that `{name}` walks in every case, and here none does"
    fix = "state one: `{name} in … up to …`"


@dataclass(frozen=True)
class OutsideBlock(Diagnostic):
    what: str

    code = "E403"
    message = "{what} stands after an `each`, which says what a row is"
    label = "no `each` before it"


@dataclass(frozen=True)
class SecondOver(Diagnostic):
    first: Span

    code = "E404"
    message = "a block has one `over`"
    label = "the second"
    fix = "bind several indices in one: `over y in H, x in W`"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "the first"),)
