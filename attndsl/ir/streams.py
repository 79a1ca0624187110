"""What a softmax folds with: the monoid of a maximum and of sums that are scaled to it, and what it finishes to.

A score s has the weight 2^(s - m), or e^(s - m), m being the largest so far; each sum is of weights, or of weights
times a value. A larger maximum rescales the sums, which is associative (Milakov and Gimelshein, "Online normalizer
calculation for softmax", 2018). All that lowers, finishes and interprets a softmax or a log-sum-exp reads it here.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from attndsl.ir.monoids import MAX, SUM
from attndsl.ir.xdsl import Attribute, arith, math

V = TypeVar("V")


@dataclass(frozen=True)
class Terms(Generic[V]):
    """What formulas are made with: SSA values, or arrays.

    `apply` computes an operation of `arith` or `math`, given its class and what it is made of; `number` is a constant.
    """

    apply: Callable[..., V]
    number: Callable[[float], V]


@dataclass(frozen=True)
class Stream:
    """The monoid of a softmax: its states, and the formulas that fold, merge and finish them.

    `natural` says that weights are powers of e, and not of 2.
    """

    natural: bool

    def states(self, sums: int) -> tuple[str, ...]:
        """What the states are called: the maximum, the sum of weights, and so many weighted sums."""
        return ("m", "l", *("acc" for _ in range(sums)))

    def identities(self, sums: int, type_: Attribute) -> tuple[int | float | bool, ...]:
        """The states of no keys."""
        return (MAX.identity(type_), *(SUM.identity(type_) for _ in range(1 + sums)))

    def shift(self, maximum: V, terms: Terms[V]) -> V:
        """What is taken off scores before they are exponents: their maximum.

        While nothing is present that is -inf, and 0 in its place keeps the power of -inf - shift at 0.
        """
        nothing = terms.apply(arith.CmpfOp, maximum, terms.number(MAX.empty), "oeq")
        return terms.apply(arith.SelectOp, nothing, terms.number(0.0), maximum)

    def power(self, score: V, shift: V, terms: Terms[V]) -> V:
        """2 or e to the power of score - shift: a weight, or what rescales the sums of another maximum."""
        return terms.apply(math.ExpOp if self.natural else math.Exp2Op, terms.apply(arith.SubfOp, score, shift))

    def rescaled(self, total: V, scale: V, part: V, terms: Terms[V]) -> V:
        """A sum, scaled to a larger maximum, with one more part."""
        return terms.apply(arith.AddfOp, terms.apply(arith.MulfOp, total, scale), part)

    def mean(self, total: V, summed: V, terms: Terms[V]) -> V:
        """The weighted mean of values; 0 where no key has a weight.

        A row has one total and many values: its reciprocal is taken once. Of a total that is not 0 there is one: the
        largest score alone has the weight 1.
        """
        empty = terms.apply(arith.CmpfOp, total, terms.number(0.0), "oeq")
        share = terms.apply(arith.DivfOp, terms.number(1.0), total)
        return terms.apply(arith.SelectOp, empty, terms.number(0.0), terms.apply(arith.MulfOp, summed, share))

    def logarithm(self, maximum: V, total: V, terms: Terms[V]) -> V:
        """The logarithm, to base e, of the sum of the exponentials."""
        found = terms.apply(math.LogOp if self.natural else math.Log2Op, total)
        found = terms.apply(arith.AddfOp, maximum, found)
        return found if self.natural else terms.apply(arith.MulfOp, found, terms.number(numbers.log(2)))
