"""Errors of reductions over the keys of a row."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class SoftmaxAlone(Diagnostic):
    code = "E501"
    message = "softmax() alone is no value: it weighs a value of every key, which stands after a `.`"
    label = "no `.` follows"
    note = "the weights are not stored"
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
class MaskNotBool(Diagnostic):
    function: str
    pointwise: str

    code = "E507"
    message = "the second argument of {function}() is a mask, a truth value for every key"
    label = "a number"
    fix = "for two numbers, write `{pointwise}`"


_ASKED = {
    "max": ("-inf", "for its largest element"),
    "min": ("inf", "for its smallest element"),
    "any": ("false", "for its elements"),
    "all": ("true", "for its elements"),
}
"""What a reduction is of no keys, and what somebody may have wanted of a vector."""


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
        empty, wanted = _ASKED[self.function]
        ways = [f"write it without {self.function}()"]
        if self.masked:
            ways.append(f"if the mask may leave no key: `if sum(1.0, mask) > 0.0 then … else {empty}`")
        if self.vector:
            ways.append(f"{wanted}, another block walks the elements: `over d in D`, `{self.function}(x[i,d])`")
        return "; ".join(ways)
