"""Errors of kind: numbers, truth values and what operators do with them."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic
from attndsl.diagnostics.foreign import power


@dataclass(frozen=True)
class WrongKind(Diagnostic):
    place: str
    wanted: str
    got: str

    code = "E201"
    message = "{place} is {got}; it must be a scalar {wanted}"
    label = "{got}"

    def hint(self) -> str:
        if self.wanted == "bool" and self.got == "a bool vector":
            return "`any(d in D) c[d]` and `all(d in D) c[d]` make one truth value of a vector; `c[d]` is one element"
        if self.got.endswith("vector"):
            return "`a . b` sums the products of two vectors; `x[d]` is one element"
        if self.place == "`mask`":
            return "say when a key counts, as in `j <= i`; what is to be added to a score stands in the score"
        if self.wanted == "int" and self.got == "a float":
            return "there is no way back from a float; ints are divided by `/`, rounded down"
        return ""


@dataclass(frozen=True)
class NotNumber(Diagnostic):
    operator: str
    got: str

    code = "E202"
    message = "`{operator}` takes numbers, not {got}"
    label = "{got}"
    fix = "as a number it is `(if … then 1 else 0)`; a mask is the second argument: `softmax(score, mask)`"


@dataclass(frozen=True)
class NotBool(Diagnostic):
    """`body` is set for what a reduction of an axis takes, which ends before a comparison."""

    place: str
    got: str
    body: bool = False

    code = "E203"
    message = "{place} takes a truth value, not {got}"
    label = "{got}"

    def hint(self) -> str:
        compared = "`(… != 0)`, in parentheses" if self.body else "`… != 0`"
        return f"compare it with something: {compared}"


@dataclass(frozen=True)
class BitsOfReal(Diagnostic):
    operator: str
    got: str
    left: str
    right: str

    code = "E204"
    message = "`{operator}` works on the bits of integers, not on {got}"
    label = "{got}"

    def hint(self) -> str:
        if self.operator == "^":
            return f"a power is `{power(self.left, self.right)}`"
        shifted = {"<<": "*", ">>": "/"}.get(self.operator)
        return f"`x {shifted} exp2(n)` is the same of floats" if shifted else ""


@dataclass(frozen=True)
class BitsOfBool(Diagnostic):
    operator: str
    got: str
    word: str

    code = "E205"
    message = "`{operator}` works on the bits of integers, not on {got}"
    label = "{got}"
    fix = "truth values are joined by `{word}`"


@dataclass(frozen=True)
class Incomparable(Diagnostic):
    operator: str
    left: str
    right: str

    code = "E206"
    message = "`{operator}` cannot compare {left} with {right}"
    label = "compared here"


@dataclass(frozen=True)
class BranchesDiffer(Diagnostic):
    then: str
    other: str

    code = "E207"
    message = "the branches of `if` differ: {then} after `then`, {other} after `else`"
    label = "this value has no single kind"


@dataclass(frozen=True)
class DivisionByZero(Diagnostic):
    operator: str

    code = "E208"
    message = "`{operator}` by zero"
    label = "never has a value"


@dataclass(frozen=True)
class RealModulo(Diagnostic):
    code = "E209"
    message = "`%` is for integers"
    label = "one side is a float"
    fix = "`x - floor(x / y) * y`"


@dataclass(frozen=True)
class TruncatedDivision(Diagnostic):
    written: str

    code = "E210"
    message = "a division of two integers drops its remainder"
    label = "this is rounded down to an integer"
    fix = "for a real quotient, write `{written}`"


@dataclass(frozen=True)
class NumberTooLarge(Diagnostic):
    real: bool

    code = "E211"
    message = "the number does not fit in 64 bits"
    label = "too large"

    def hint(self) -> str:
        if self.real:
            return "write `inf` for infinity; other floats are below 1.8e308"
        return "integers lie between -9223372036854775808 and 9223372036854775807; a float has a point: `1.0`"


@dataclass(frozen=True)
class SumOfBool(Diagnostic):
    code = "E212"
    message = "`sum` adds numbers, not truth values"
    label = "a truth value"
    fix = "count with `(if … then 1 else 0)`"


@dataclass(frozen=True)
class WrongArguments(Diagnostic):
    """`arguments` are those of the call, as they are written."""

    function: str
    wanted: str
    got: int
    arguments: tuple[str, ...]

    code = "E213"
    message = "{function}() takes {wanted}, not {got}"
    label = "called here"

    def hint(self) -> str:
        pair = {"max": "maximum"}.get(self.function, self.function)
        if self.got < 3 or pair not in ("minimum", "maximum") or len("".join(self.arguments)) > 60:
            return ""
        nested = self.arguments[0]
        for argument in self.arguments[1:]:
            nested = f"{pair}({nested}, {argument})"
        return f"of more than two numbers, write `{nested}`"
