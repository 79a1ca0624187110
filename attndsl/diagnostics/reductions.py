"""Errors of reductions over the keys of a row."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class SoftmaxAlone(Diagnostic):
    code = "E501"
    message = "softmax() alone is no value: it weighs a value of every key, which stands after a `.`"
    label = "no `.` follows"
    note = "the weights themselves are written at their keys: `p[b,i,j] = softmax(…)`"
    fix = "`softmax(…) . v[…, :]`"


@dataclass(frozen=True)
class SoftmaxOnTheRight(Diagnostic):
    code = "E502"
    message = "softmax() stands on the left of `.`"
    label = "on the right"
    fix = "`softmax(…) . v[…, :]`"


@dataclass(frozen=True)
class SoftmaxOfScalar(Diagnostic):
    got: str

    code = "E503"
    message = "softmax() weighs vectors, and this is {got}"
    label = "{got}"
    fix = (
        "keep an axis of the value with `:`, or give the number one: "
        "`let x[e in 1] = …`, `let y = softmax(…) . x`, `y[0]`"
    )


@dataclass(frozen=True)
class NothingToReduce(Diagnostic):
    function: str

    code = "E504"
    message = "{function}() reduces over keys, and no `over` before it says which"
    label = "nothing to reduce over"
    fix = "write `over j in N` after the block's `each`"


@dataclass(frozen=True)
class SinkOverKeys(Diagnostic):
    code = "E506"
    message = "the sink is one number a row and cannot depend on the key"
    label = "depends on an `over` index"


@dataclass(frozen=True)
class PlaceOverKeys(Diagnostic):
    name: str

    code = "E510"
    message = "topk() ranks all keys of a row, and which of its positions is meant cannot depend on one of them"
    label = "its place depends on `{name}`"
    fix = "leave the positions in a temp, `top[…, :] = topk(…)`, and let a block that follows read it"


@dataclass(frozen=True)
class PositionsApart(Diagnostic):
    name: str

    code = "E511"
    message = "topk() numbers the keys of several indices, and `{name}` has another number of values for each row"
    label = "tells positions by `{name}`"
    fix = "let all of `over` but its first index run through a dim, and leave out the rest by the mask"


@dataclass(frozen=True)
class MaskNotBool(Diagnostic):
    """`written` are the two arguments."""

    function: str
    written: tuple[str, str]

    code = "E507"
    message = "the second argument of {function}() is a mask, a truth value for every key"
    label = "a number"

    def hint(self) -> str:
        first, second = self.written
        if self.function in _JOINED:
            return f"leave it out, or write a condition; two conditions are `{first} {_JOINED[self.function]} …`"
        pair = f"{first} + {second}" if self.function == "sum" else f"{self.function}imum({first}, {second})"
        return f"for two numbers, write `{pair}`"


_JOINED = {"any": "or", "all": "and"}
"""What joins two truth values as a reduction joins those of keys."""


@dataclass(frozen=True)
class NotAlongAxes(Diagnostic):
    function: str
    known: tuple[str, ...]

    code = "E509"
    message = "{function}() reduces no axis"
    label = "an index and its extent follow"

    def hint(self) -> str:
        return f"these do: {', '.join(self.known)}; as in `max(d in D) x[d]`"


_EMPTY = {"max": "-inf", "min": "inf", "any": "false", "all": "true"}
"""What a reduction is of no keys."""


@dataclass(frozen=True)
class SameForEveryKey(Diagnostic):
    function: str
    keys: str
    masked: bool
    vector: bool

    code = "E508"
    message = "{function}() compares the keys, and this is the same for every key"
    label = "does not depend on {keys}"

    def hint(self) -> str:
        ways = [f"write it without {self.function}()"]
        if self.masked:
            ways.append(f"if the mask may leave no key: `if sum(1.0, mask) > 0.0 then … else {_EMPTY[self.function]}`")
        if self.vector:
            ways.append(f"of the elements of a vector it is `{self.function}(d in D) x[i,d]`")
        return "; ".join(ways)
