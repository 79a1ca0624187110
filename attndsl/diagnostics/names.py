"""Errors of names: unknown, taken, or of the wrong sort."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics import foreign
from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.diagnostics.suggest import did_you_mean, one_of
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class Misnamed(Diagnostic):
    """A name that nothing has; `known` are those that could stand here."""

    name: str
    known: tuple[str, ...]

    def hint(self) -> str:
        return did_you_mean(self.name, self.known)


@dataclass(frozen=True)
class UnknownName(Misnamed):
    code = "E101"
    message = "nothing is called `{name}` here"
    label = "not defined"
    note = "a name is defined before it is used, and only within its own `each` block"


@dataclass(frozen=True)
class UnknownFunction(Misnamed):
    """`arguments` are those of the call, as they are written."""

    arguments: tuple[str, ...]

    code = "E102"
    message = "there is no function `{name}`"
    label = "not a function"

    def hint(self) -> str:
        meant = foreign.ours(self.name, self.arguments)
        return meant or did_you_mean(self.name, self.known) or f"the functions are {one_of(self.known)}"


@dataclass(frozen=True)
class UnknownType(Misnamed):
    code = "E103"
    message = "`{name}` is no type that can stand here"
    label = "not a type"

    def hint(self) -> str:
        word = self.name.lower()
        for meant in (word, foreign.TYPES.get(word), foreign.PARAMETER_TYPES.get(word)):
            if meant in self.known:
                return f"write `{meant}`"
        return did_you_mean(self.name, self.known) or f"write {one_of(self.known)}"


@dataclass(frozen=True)
class UndeclaredType(Diagnostic):
    name: str
    role: str
    known: tuple[str, ...]

    code = "E118"
    message = "no type variable is called `{name}`"
    label = "not declared"

    def hint(self) -> str:
        instead = f"write {one_of(self.known)}, or " if self.known else ""
        told = ", and let an input have it: a call tells types by its inputs" if self.role != "input" else ""
        return f"{instead}declare it: `types {self.name}`{told}"


@dataclass(frozen=True)
class UnknownKeyword(Misnamed):
    function: str

    code = "E104"
    message = "{function}() takes no argument `{name}`"
    label = "unknown argument"

    def hint(self) -> str:
        return foreign.KEYWORDS.get(self.name) or did_you_mean(self.name, self.known)


@dataclass(frozen=True)
class UnknownSetting(Misnamed):
    code = "E105"
    message = "a schedule has no setting `{name}`"
    label = "not a setting"

    def hint(self) -> str:
        return did_you_mean(self.name, self.known) or f"the settings are {one_of(self.known)}"


@dataclass(frozen=True)
class UnknownOutput(Misnamed):
    code = "E106"
    message = "no output is called `{name}`"
    label = "not declared"

    def hint(self) -> str:
        if self.name in ("score", "mask"):
            return f"a definition has no subscripts of the row: `{self.name} = …`"
        return did_you_mean(self.name, self.known) or f"declare it: `output {self.name} : T[…]`"


@dataclass(frozen=True)
class Shadows(Diagnostic):
    name: str
    first: Span

    code = "E107"
    message = "`{name}` has a meaning already"
    label = "defined again"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "first defined here"),) if self.first.end else ()

    def hint(self) -> str:
        return "" if self.first.end else f"`{self.name}` is built in: choose another name"


@dataclass(frozen=True)
class Repeated(Diagnostic):
    name: str
    first: Span

    code = "E108"
    message = "`{name}` is given twice"
    label = "again"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "first given here"),)


@dataclass(frozen=True)
class TypeAsValue(Diagnostic):
    name: str

    code = "E109"
    message = "`{name}` is an element type, not a value"
    label = "a type"


@dataclass(frozen=True)
class ReadTooEarly(Diagnostic):
    name: str

    code = "E110"
    message = "`{name}` is read before a block has written it"
    label = "not written yet"
    note = "a block reads what the blocks before it have written, all rows of it; every `each` opens a block"
    fix = "read `{name}` in a later block, or name the value with `let` and use it in both places"


@dataclass(frozen=True)
class FunctionAsValue(Diagnostic):
    name: str

    code = "E111"
    message = "`{name}` is a function, not a value"
    label = "lacks its arguments"
    fix = "call it: `{name}(…)`"


@dataclass(frozen=True)
class NotFunction(Diagnostic):
    name: str
    first: Span
    number: bool

    code = "E112"
    message = "`{name}` is not a function"
    label = "called here"

    def hint(self) -> str:
        if self.number:
            return f"multiply with `*`: `{self.name} * (…)`"
        return f"subscripts stand in square brackets: `{self.name}[…]`"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.first, "defined here"),) if self.first.end else ()


@dataclass(frozen=True)
class NotDefinition(Diagnostic):
    name: str
    value: str

    code = "E113"
    message = "only `score` and `mask` are defined without `let`"
    label = "not one of the two"
    fix = "`let {name} = {value}`"


@dataclass(frozen=True)
class BuiltInType(Diagnostic):
    name: str

    code = "E114"
    message = "`{name}` is an element type already"
    label = "cannot be a type variable"
    fix = "use `{name}` as it is, or name the variable otherwise: `types T = {name}`"


@dataclass(frozen=True)
class UsedTooEarly(Diagnostic):
    name: str
    defined: Span

    code = "E115"
    message = "`{name}` is used before it is defined"
    label = "not defined yet"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.defined, "defined only here"),)


@dataclass(frozen=True)
class OtherBlock(Diagnostic):
    name: str
    defined: Span

    code = "E116"
    message = "`{name}` belongs to another block"
    label = "not defined in this one"
    note = "what stands before the first `each` is shared by all blocks"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.defined, "defined here"),)


@dataclass(frozen=True)
class UsesItself(Diagnostic):
    name: str

    code = "E117"
    message = "`{name}` is used by the statement that defines it"
    label = "not defined yet"
    note = "no definition uses itself, and the indices of one `over` do not depend on each other"


@dataclass(frozen=True)
class BareOutput(Diagnostic):
    role: str
    name: str
    subscripts: str

    code = "E133"
    message = "the {role} `{name}` is written at its subscripts"
    label = "no subscripts"
    fix = "`{name}[{subscripts}] = …` with the row's indices for all `:` that are no axis of the value"


@dataclass(frozen=True)
class ForeignName(Diagnostic):
    name: str

    code = "E134"
    message = "nothing is called `{name}`"
    label = "from another language"

    def hint(self) -> str:
        return foreign.advice(foreign.NAMES[self.name])


# --- what a `.` is elsewhere


@dataclass(frozen=True)
class NoModule(Diagnostic):
    name: str
    member: str

    code = "E130"
    message = "there are no modules, and nothing is called `{name}`"
    label = "a module elsewhere"
    note = "`.` is the product of two vectors"

    def hint(self) -> str:
        return f"write `{self.member}`" if len(self.member) <= 80 else ""


@dataclass(frozen=True)
class NoMethod(Diagnostic):
    """`arguments` are the value and what stands in the call, as they are written."""

    name: str
    arguments: tuple[str, ...]

    code = "E131"
    message = "a value has no methods"
    label = "called on a value"
    note = "`.` is the product of two vectors"

    def hint(self) -> str:
        known = foreign.METHODS.get(self.name) or foreign.ours(self.name, self.arguments)
        call = f"{self.name}({', '.join(self.arguments)})"
        return known or (f"write `{call}`" if len(call) <= 80 else "")


@dataclass(frozen=True)
class NoAttribute(Diagnostic):
    name: str

    code = "E132"
    message = "values have no attributes: there is no `.{name}`"
    label = "asked of a value"
    note = "`.` is the product of two vectors"

    def hint(self) -> str:
        return foreign.advice(foreign.ATTRIBUTES[self.name])
