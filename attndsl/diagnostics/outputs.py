"""Errors of what a spec writes."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class NotWritten(Diagnostic):
    role: str
    name: str

    code = "E601"
    message = "nothing writes the {role} `{name}`"
    label = "declared here"

    def hint(self) -> str:
        write = f"`{self.name}[…] = …`"
        return f"{write}, or make it an input" if self.role == "inout" else write


@dataclass(frozen=True)
class WrittenTwice(Diagnostic):
    role: str
    name: str
    first: Span

    code = "E602"
    message = "the {role} `{name}` is written twice"
    label = "again"
    fix = "where both add up, write `+=` in both"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "first written here"),)


@dataclass(frozen=True)
class WrittenAndAdded(Diagnostic):
    role: str
    name: str
    sign: str
    first: Span

    code = "E615"
    message = "the {role} `{name}` is written by `=` and by `+=`"
    label = "by `{sign}` here"
    note = "it has one `=`, or any number of `+=`, which add up"
    fix = "write `+=` in both"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, f"by `{'=' if self.sign == '+=' else '+='}` here"),)


@dataclass(frozen=True)
class AddedAfterRead(Diagnostic):
    name: str

    code = "E616"
    message = "`{name}` is added to after a block has read it"
    label = "added to here"
    note = "a block reads whole sums: what adds up to one stands in the blocks before it"
    fix = "read `{name}` in a block behind this one"


@dataclass(frozen=True)
class ReadInPlace(Diagnostic):
    name: str

    code = "E618"
    message = "the block that writes `{name}` reads it elsewhere"
    label = "not in the value of the `=` that writes this element"
    note = "its rows have no order: one may write what another reads"
    fix = "read what is written by the same subscripts, in that value alone, or read `{name}` in another block"


@dataclass(frozen=True)
class ReadAndAdded(Diagnostic):
    name: str

    code = "E619"
    message = "the block that adds to `{name}` reads it"
    label = "read here"
    note = "its rows have no order, and what they add up to is not known before all have"
    fix = "read `{name}` in another block"


@dataclass(frozen=True)
class NotOutput(Diagnostic):
    name: str
    first: Span

    code = "E603"
    message = "`{name}` is no output, inout or temp"
    label = "written here"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "defined here"),)


@dataclass(frozen=True)
class WrongOutputRank(Diagnostic):
    role: str
    name: str
    wanted: int
    got: int
    first: Span

    code = "E604"
    message = "the {role} `{name}` takes {wanted:subscript}, not {got}"
    label = "{got:subscript}"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "declared here"),)

    def hint(self) -> str:
        return f"for the whole of an axis write `:`, as in `{self.name}[…, :]`" if self.got < self.wanted else ""


@dataclass(frozen=True)
class WrongOutputAxes(Diagnostic):
    name: str
    wanted: str
    got: str

    code = "E605"
    message = "the value has {got}, but `{name}` is written over {wanted}"
    label = "{got}"


@dataclass(frozen=True)
class BoolWritten(Diagnostic):
    role: str
    name: str

    code = "E606"
    message = "the {role} `{name}` holds numbers, and this is a truth value"
    label = "a truth value"
    fix = "make it a number, `(if … then 1 else 0)`, or let it hold `bool`"


@dataclass(frozen=True)
class NumberWritten(Diagnostic):
    role: str
    name: str
    got: str

    code = "E612"
    message = "the {role} `{name}` holds truth values, and this is {got}"
    label = "{got}"
    fix = "compare it with something: `… != 0`"


@dataclass(frozen=True)
class AddsStored(Diagnostic):
    role: str
    name: str

    code = "E617"
    message = "rows add up in f16, bf16, f32 and f64, and the {role} `{name}` is none of these"
    label = "added to"
    fix = "add up in one of f32, and write what it is to be from it in a later block"


@dataclass(frozen=True)
class FloatWritten(Diagnostic):
    role: str
    name: str

    code = "E613"
    message = "the {role} `{name}` holds ints, and this is a float"
    label = "a float"
    note = "there is no way back from a float, but that i8 and u8 take the nearest int that it holds"
    fix = "write an int, or make it one of floats"


@dataclass(frozen=True)
class KeyInWrite(Diagnostic):
    name: str

    code = "E607"
    message = "`{name}` runs over keys and cannot say where a row is written"
    label = "depends on `{name}`"


@dataclass(frozen=True)
class KeyOutsideReduction(Diagnostic):
    name: str

    code = "E608"
    message = "`{name}` has a value only inside a reduction"
    label = "depends on `{name}` outside one"
    note = "softmax(), logsumexp(), sum() and max() reduce over all `{name}`"


@dataclass(frozen=True)
class RowsCollide(Diagnostic):
    output: str
    name: str

    code = "E609"
    message = "rows that differ in `{name}` alone write the same place of `{output}`"
    label = "`{name}` is missing here"
    fix = "to add up what such rows give, write `{output}[…] += …`"


@dataclass(frozen=True)
class NoOutput(Diagnostic):
    name: str

    code = "E611"
    message = "`{name}` has no output, and so it computes nothing"
    label = "writes nothing"
    fix = "declare one, `output o : f32[M]`, and write it: `each i in M` and `o[i] = …`"


@dataclass(frozen=True)
class EmptyBlock(Diagnostic):
    code = "E610"
    message = "the block writes nothing"
    label = "opened here"
    note = "every `each` opens a block of its own, which ends at the next one"
    fix = "name all indices of a row in one, `each b in B, i in M`, and write `o[b,i] = …` in its block"
