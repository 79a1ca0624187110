"""Errors of reductions over the keys of a row."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class SoftmaxAlone(Diagnostic):
    code = "E501"
    message = "softmax() gives a weight to every key, which a value must be summed with"
    label = "weights of what?"
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
    fix = "keep an axis of the value with `:`"


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
