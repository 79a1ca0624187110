"""Errors of names: unknown, taken, or of the wrong sort."""

from __future__ import annotations

from dataclasses import dataclass

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
    code = "E102"
    message = "there is no function `{name}`"
    label = "not a function"

    def hint(self) -> str:
        return did_you_mean(self.name, self.known) or f"the functions are {one_of(self.known)}"


@dataclass(frozen=True)
class UnknownType(Misnamed):
    code = "E103"
    message = "`{name}` is no type that can stand here"
    label = "not a type"

    def hint(self) -> str:
        meant = _FOREIGN_TYPES.get(self.name.lower(), "")
        if meant in self.known:
            return f"write `{meant}`"
        return did_you_mean(self.name, self.known) or f"write {one_of(self.known)}"


_FOREIGN_TYPES = {
    **dict.fromkeys(("float", "float32", "single", "fp32", "real"), "f32"),
    **dict.fromkeys(("float64", "double", "fp64"), "f64"),
    **dict.fromkeys(("float16", "half", "fp16"), "f16"),
    **dict.fromkeys(("bfloat16", "bfloat"), "bf16"),
    **dict.fromkeys(("float8_e4m3fn", "f8e4m3fn", "e4m3", "fp8", "f8"), "f8e4m3"),
    **dict.fromkeys(("float8_e5m2", "e5m2"), "f8e5m2"),
    **dict.fromkeys(("int8", "char"), "i8"),
    **dict.fromkeys(("uint8", "byte"), "u8"),
    **dict.fromkeys(("int", "int32"), "i32"),
    **dict.fromkeys(("int64", "long", "size_t"), "i64"),
    **dict.fromkeys(("boolean", "mask", "i1"), "bool"),
}
"""Element types by the names that they have elsewhere."""


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
        told = ", and let an input have it: an output's type is told by one" if self.role == "output" else ""
        return f"{instead}declare it: `types {self.name}`{told}"


@dataclass(frozen=True)
class UnknownKeyword(Misnamed):
    function: str

    code = "E104"
    message = "{function}() takes no argument `{name}`"
    label = "unknown argument"

    def hint(self) -> str:
        if self.name == "mask":
            return "the mask is the second argument and has no name"
        return did_you_mean(self.name, self.known)


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
class OutputRead(Diagnostic):
    name: str

    code = "E110"
    message = "`{name}` is an output and cannot be read"
    label = "an output"
    fix = "name the value with `let` and use it in both places"


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
