"""Errors of declarations: parameters, dims, types, tensors, conditions, the schedule."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class WrongDefault(Diagnostic):
    name: str
    wanted: str
    got: str

    code = "E701"
    message = "the default of `{name}` is {got}, and its type is {wanted}"
    label = "does not fit"


@dataclass(frozen=True)
class DefaultReads(Diagnostic):
    name: str

    code = "E712"
    message = "the default of `{name}` is made of more than dims, numbers and the parameters before it"
    label = "is not known before a call"


@dataclass(frozen=True)
class OutputDefault(Diagnostic):
    role: str
    name: str

    code = "E713"
    message = "the {role} `{name}` has a default, which inputs have that a call may leave out"
    label = "of what blocks write"

    def hint(self) -> str:
        return "a call gives what it holds" if self.role == "inout" else "an element that no row writes is 0"


@dataclass(frozen=True)
class WrittenBroadcast(Diagnostic):
    role: str
    name: str

    code = "E719"
    message = "the {role} `{name}` has an extent with `?`, which inputs have that a call may give as 1 there"
    label = "of what blocks write"
    fix = "leave out the `?`"


@dataclass(frozen=True)
class DefaultComputed(Diagnostic):
    name: str

    code = "E714"
    message = "the default of the input `{name}` is not a number"
    label = "is computed at a call"
    fix = "a number that a call may give is a parameter, `scale: f32 = 1.0 / sqrt(D)`"


@dataclass(frozen=True)
class DefaultRounds(Diagnostic):
    name: str
    element: str

    code = "E715"
    message = "the default of the input `{name}` is no number of {element}, which it may hold"
    label = "would be rounded"
    note = "leaving an input out means the same as giving a tensor that is full of its default"


@dataclass(frozen=True)
class DefaultTooLarge(Diagnostic):
    name: str
    room: str

    code = "E702"
    message = "the default of `{name}` does not fit in {room}"
    label = "too large"


@dataclass(frozen=True)
class RequireReads(Diagnostic):
    code = "E704"
    message = "`require` is checked before data is read: dims, parameters and numbers only"
    label = "depends on data or on an index"


@dataclass(frozen=True)
class WrongSetting(Diagnostic):
    name: str
    value: str
    wanted: str

    code = "E705"
    message = "`{name}` cannot be {value}"
    label = "{wanted}"


@dataclass(frozen=True)
class LayoutUnmatched(Diagnostic):
    name: str

    code = "E720"
    message = "no output can lie in memory as `{name}` does"
    label = "`{name}` lacks axes of each"
    note = "axes of one extent belong together, and then those at the same place from the last"
    fix = "declare the output with its axes in the order in which they are to lie"


@dataclass(frozen=True)
class DimNotDeducible(Diagnostic):
    name: str

    code = "E706"
    message = "no input tells how large `{name}` is"
    label = "declared here"
    note = "a call reads a dim off an extent of an input that is made of it, parameters and numbers, without `?`"

    fix = "give an input the extent `{name}`, or make it a parameter: `({name}: int)`"


@dataclass(frozen=True)
class TypeNotDeducible(Diagnostic):
    name: str

    code = "E707"
    message = "no tensor has the type `{name}`"
    label = "declared here"
    fix = "give it to an input, or to an output: a call says then which it is"


@dataclass(frozen=True)
class DimRounded(Diagnostic):
    name: str
    divisor: int

    code = "E709"
    message = "no input tells how large `{name}` is: a division may have rounded it"
    label = "the same for several `{name}`"
    fix = "write `require {name} % {divisor} == 0`, if that is meant"


@dataclass(frozen=True)
class FormulaTells(Diagnostic):
    name: str
    dim: str

    code = "E718"
    message = "the default of `{name}` is computed from `{dim}`, which is read off an extent with `{name}` in it"
    label = "each needs the other"
    fix = "give an input the extent `{dim}`, or `{name}` a default without it"


@dataclass(frozen=True)
class RealInExtent(Diagnostic):
    place: str

    code = "E711"
    message = "{place} is computed from ints alone"
    label = "contains a real number"
    fix = (
        "write it with ints, such as `2 * B > 5` for `f32(B) > 2.5`: a kernel rounds real numbers, and a call does not"
    )


@dataclass(frozen=True)
class MixedType(Diagnostic):
    name: str
    first: str
    choice: str

    code = "E716"
    message = "`{name}` cannot be {first} in one call and {choice} in another: one is a float, one an int"
    label = "of another kind"
    fix = "two type variables, one of floats and one of ints: `types T, I = i32 | i64`"


@dataclass(frozen=True)
class NegativeExtent(Diagnostic):
    extent: int

    code = "E710"
    message = "the extent of a tensor is {extent}, and none is below 0"
    label = "negative"
