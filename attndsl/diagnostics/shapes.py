"""Errors of shape: subscripts, axes, dot products."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic, Label
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class WrongRank(Diagnostic):
    name: str
    wanted: int
    got: int
    defined: Span
    written: str

    code = "E301"
    message = "`{name}` takes {wanted:subscript}, not {got}"
    label = "{got:subscript}"

    def others(self) -> tuple[Label, ...]:
        return (Label(self.defined, "defined here"),)

    def hint(self) -> str:
        if self.got >= self.wanted or len(self.written) > 80:
            return ""
        rest = (", :" if ", " in self.written else ",:") * (self.wanted - self.got)
        return f"for the whole of an axis write `:`, as in `{self.written[:-1]}{rest}]`"


@dataclass(frozen=True)
class BareTensor(Diagnostic):
    name: str
    rank: int
    subscripts: str

    code = "E302"
    message = "`{name}` is a tensor of {rank:dimension}; it needs its subscripts"
    label = "used as a whole"

    def hint(self) -> str:
        rest = " with an index for every `:` that is not a vector's axis" if self.rank else ""
        return f"`{self.name}[{self.subscripts}]`{rest}"


@dataclass(frozen=True)
class BareDefinition(Diagnostic):
    name: str
    slots: str

    code = "E303"
    message = "`{name}` is defined for indices; it needs its subscripts"
    label = "used without"
    fix = "`{name}[{slots}]`"


@dataclass(frozen=True)
class NotSubscriptable(Diagnostic):
    name: str
    what: str

    code = "E304"
    message = "`{name}` is {what} and takes no subscripts"
    label = "subscripted here"


@dataclass(frozen=True)
class WholeOfIndex(Diagnostic):
    name: str
    param: str

    code = "E305"
    message = "`:` cannot stand for `{param}` of `{name}`, which is an index and no axis"
    label = "needs an integer"
    fix = "give its extent where `{name}` is defined: `{param} in …`"


@dataclass(frozen=True)
class AxesDiffer(Diagnostic):
    left: str
    right: str

    code = "E306"
    message = "vectors with {left} and with {right} cannot be combined"
    label = "combined here"
    note = "element by element, vectors go with scalars or with vectors of the same axes"


@dataclass(frozen=True)
class DotOfScalar(Diagnostic):
    got: str

    code = "E307"
    message = "`.` multiplies vectors, and this is {got}"
    label = "{got}"
    fix = "use `*`, or keep an axis with `:`"


@dataclass(frozen=True)
class DotExtents(Diagnostic):
    left: str
    right: str

    code = "E308"
    message = "`.` sums over the last axes, but those differ: `{left}` and `{right}`"
    label = "`{left}` against `{right}`"
    note = "two extents are the same where they are the same expression of dims"


@dataclass(frozen=True)
class WrongAxes(Diagnostic):
    name: str
    wanted: int
    got: int

    code = "E309"
    message = "the definition of `{name}` keeps {wanted:axis} with `:`, but its value has {got}"
    label = "{got:axis}"


@dataclass(frozen=True)
class NegativeIndex(Diagnostic):
    index: int
    last: str

    code = "E310"
    message = "the index is {index}, and a negative one does not count from the end"
    label = "always out of range"

    def hint(self) -> str:
        return f"count from the start: the last one is {f'`{self.last}`' if self.last else 'at the extent less 1'}"


@dataclass(frozen=True)
class IndexTooLarge(Diagnostic):
    index: int
    extent: int

    code = "E311"
    message = "the index is {index}, and the extent is {extent}"
    label = "always out of range"

    def hint(self) -> str:
        return f"the last one is `{self.extent - 1}`" if self.extent else ""


@dataclass(frozen=True)
class SliceExtent(Diagnostic):
    code = "E312"
    message = "how much a slice takes must be made of dims, parameters and numbers"
    label = "its ends do not differ by that"
    fix = "write the end as the start and an extent: `x[h * D : h * D + D]`"
