"""Errors of forms that other languages have: strings, ranges, tuples, statements with conditions."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class NoStrings(Diagnostic):
    written: str

    code = "E043"
    message = "a spec has no strings"
    label = "text in quotes"

    def hint(self) -> str:
        return self.written


@dataclass(frozen=True)
class NoEllipsis(Diagnostic):
    code = "E044"
    message = "`...` stands for nothing: a tensor has a subscript for each of its dimensions"
    label = "left out"
    fix = "write all of them, `:` for the whole of an axis: `k[b,h,j,:]`"


@dataclass(frozen=True)
class NoRange(Diagnostic):
    written: str

    code = "E045"
    message = "there are no ranges: an index begins at 0, and `in` takes its extent"
    label = "a range"
    fix = "write `in {written}`; what the index should begin at is added where it is used"


@dataclass(frozen=True)
class ConditionalStatement(Diagnostic):
    written: str

    code = "E046"
    message = "`if` chooses a value, and no statement has a condition"
    label = "begins no statement"

    def hint(self) -> str:
        return self.written


@dataclass(frozen=True)
class ConditionLast(Diagnostic):
    written: str

    code = "E047"
    message = "the condition comes first"
    label = "`if` after the value"

    def hint(self) -> str:
        return f"write `{self.written}`"


@dataclass(frozen=True)
class NoBlock(Diagnostic):
    word: str

    code = "E048"
    message = "`{word}` opens no block of its own"
    label = "not needed"
    fix = "leave it out: everything up to the next `each` belongs to the row"


@dataclass(frozen=True)
class TypedDefinition(Diagnostic):
    name: str

    code = "E049"
    message = "`let` is followed by the name alone: kinds are found, and nothing changes"
    label = "only `=` should stand here"
    fix = "`let {name} = …`"


@dataclass(frozen=True)
class FunctionDefinition(Diagnostic):
    name: str
    parameters: str

    code = "E050"
    message = "the parameters of a definition stand in square brackets"
    label = "`[` should stand here"
    fix = "`let {name}[{parameters}] = …`, where they are ints; `d in D` makes an axis of one"


@dataclass(frozen=True)
class NoMembership(Diagnostic):
    written: str

    code = "E051"
    message = "`in` binds an index, and tests nothing"
    label = "inside an expression"
    fix = "write `{written}`"


@dataclass(frozen=True)
class NoList(Diagnostic):
    code = "E052"
    message = "there are no lists or tuples: a value is a number, a truth value or a vector"
    label = "several values"
    fix = "a vector is written by its elements: `let x[d in D] = …`"


@dataclass(frozen=True)
class SplitEach(Diagnostic):
    first: Span
    written: str

    code = "E054"
    message = "one `each` names all indices of a row; another opens a new block"
    label = "a second one"

    def hint(self) -> str:
        return f"`{self.written}`" if len(self.written) <= 120 else ""

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "nothing is written for these rows"),)


@dataclass(frozen=True)
class TypeChoices(Diagnostic):
    code = "E056"
    message = "the choices of a type variable follow `=`, with `|` between them"
    label = "not here"
    fix = "`types T = f16 | bf16`; `types T` alone is any float type"


@dataclass(frozen=True)
class DimWithValue(Diagnostic):
    name: str

    code = "E057"
    message = "a dim is given no value: a call reads it off its inputs"
    label = "not here"
    fix = "`require {name} == …` holds it to one; an extent may be a number, as in `T[B, 64]`"
