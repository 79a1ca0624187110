"""What rounding does to sums and reductions: how exactly a program computes, and the errors that come of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attndsl.reference.arrays import Array

FUNCTION = 8
"""Roundings of an exponential and its like: the fast ones of GPUs are off by a few units in the last place."""


class Errors(NamedTuple):
    """The sizes of values, which cancellation does not make smaller, and bounds of their errors."""

    size: Array
    error: Array


class Added(NamedTuple):
    """What has been added to each element of an output: the sums of sizes and errors, and of how many terms.

    Of those how many are infinities of either sign.
    """

    size: Array
    error: Array
    terms: Array
    rising: Array
    falling: Array

    @classmethod
    def to(cls, value: Array) -> Added:
        """No terms as yet, but what an element holds."""
        return cls(np.array(np.abs(value)), *(np.zeros(value.shape) for _ in cls._fields[1:]))


@dataclass(frozen=True, slots=True)
class Rounding:
    """How exactly a program computes: relative errors, but for the last five, which are numbers of its type."""

    unit: float
    """Half a step of the type that computes, at 1."""

    product: float = 0.0
    """What each product of a contraction is off by besides, where it is made of smaller ones."""

    weight: float = 0.0
    """What each weight of a key is off by besides, where it is rounded to a smaller type."""

    floor: float = 0.0
    """How far off a weight that is smaller than that type's normal numbers may be."""

    function: float = 0.0
    """What a function is off by besides, of its result, where targets may approximate it."""

    tiny: float = float(np.finfo(np.float32).tiny)
    """The smallest normal number: what is smaller may be taken for 0."""

    largest: float = float(np.finfo(np.float32).max)
    """What is larger overflows."""

    least: float = 1e-6
    """The least sum of weights from whose scores no maximum is taken off: all of them may be this small."""

    most: float = 1e30
    """The largest such sum."""

    def number(self, value: Array) -> Errors:
        """A number of the spec, which is rounded where the type that computes does not hold it."""
        size = np.abs(value)
        held = np.isinf(size) | (value.astype(np.float32) == value)
        return Errors(size, np.where(held, 0.0, self.unit * size))

    def settled(self, value: Array, size: Array, error: Array, certain: Array) -> Errors:
        """The errors of finite values in range; one that is not finite is exact where it is `certain`.

        Infinite elsewhere: a size that is out of range means that a partial result may have overflowed.
        """
        finite = np.isfinite(value)
        within = finite & (size <= self.largest) & ~np.isnan(error)
        return Errors(
            np.where(finite, size, np.abs(value)), np.where(within, error, np.where(finite | ~certain, np.inf, 0.0))
        )

    def summed(self, value: Array, terms: Errors, relative: float) -> Errors:
        """A sum along the first dimension, whose terms are off by the factor `relative` besides their errors.

        Infinities of both signs may have one factor that is infinite, which a pass may take out of the sum.
        """
        size, error = terms.size.sum(axis=0), terms.error.sum(axis=0)
        certain = np.asarray(np.isfinite(terms.error).all(axis=0) & ~np.isfinite(value).all(axis=0))
        certain &= ~_of_both_signs(value)
        return self.settled(value.sum(axis=0), size, error + (len(value) * self.unit + relative) * size, certain)

    def added_up(self, value: Array, added: Added) -> Array:
        """The errors of sums of terms, which are added one by one, in whatever order, from 0.

        What is said of infinities in `summed` holds here.
        """
        error = added.error + added.terms * self.unit * added.size
        both = (added.rising > 0) & (added.falling > 0) & ~np.isnan(added.size)
        return self.settled(value, added.size, error, np.asarray(np.isfinite(added.error) & ~both)).error

    def extreme(self, terms: Errors, result: Array) -> Errors:
        """The largest or smallest along the first dimension, which comes out as `result`."""
        size, error = terms.size.max(axis=0, initial=0.0), terms.error.max(axis=0, initial=0.0)
        return self.settled(result, size, error, np.isfinite(error))

    @staticmethod
    def position(kept: Array, score: Array, scores: Errors, result: Array) -> Errors:
        """Which of the keys that are kept has the largest score: certain where no error makes it another one."""
        least = np.where(kept, score - scores.error, -np.inf).max(axis=0, initial=-np.inf)
        rivals = kept & ~(score + scores.error < least)
        moved = (rivals & ~(scores.error == 0)).any(axis=0) & (rivals.sum(axis=0) > 1)
        moved |= (kept & ~np.isfinite(scores.error)).any(axis=0)
        return Errors(np.abs(result * 1.0), np.where(moved, np.inf, 0.0))

    @staticmethod
    def places(score: Array, scores: Errors, order: Array) -> Array:
        """The errors of which key is at each place of an order: 0, or infinite where two may change places."""
        ranked, error = (np.take_along_axis(each, order, 0) for each in (score, scores.error))
        ranked = np.where(np.isnan(ranked), np.inf, ranked)  # NaN comes first
        low, high = ranked - error, ranked + error

        def before(least: Array) -> Array:
            """The least of all at the places before each."""
            none = np.full_like(least[:1], np.inf)
            return np.minimum.accumulate(np.concatenate([none, least[:-1]]), axis=0)[: len(least)]

        moved = ~np.isfinite(error).all(axis=0) & np.ones(ranked.shape, bool)
        # Of two scores without errors the order is certain, those that are equal included.
        for mine, others in ((error > 0, np.ones_like(moved)), (error == 0, error > 0)):
            larger = before(np.where(others, low, np.inf))
            smaller = -before(np.where(others, -high, np.inf)[::-1])[::-1]
            moved |= mine & (((larger <= high) & (larger < np.inf)) | ((smaller >= low) & (smaller > -np.inf)))
        return np.where(moved, np.inf, 0.0)

    def weighted(self, score: Array, scores: Errors, sink: Array, sinks: Array) -> Weights:
        """The weights of a softmax along the first dimension; a key that is left out has the score -inf.

        `sinks` are the errors of the sinks.
        """
        largest = np.maximum(score.max(axis=0, initial=-np.inf), sink)
        shift = np.where(largest == -np.inf, 0.0, largest)
        scale = np.maximum(
            np.where(np.isfinite(score), scores.size, 0.0).max(axis=0, initial=0.0),
            np.where(np.isfinite(sink), np.abs(sink), 0.0),
        )
        rescaled = (2 * len(score) + FUNCTION) * self.unit
        first = (score == largest) & (scores.error == 0)  # the exponent is 0 for certain
        exponent = np.where(first, 0.0, scores.error + 6 * self.unit * scale) + rescaled
        weight = np.exp(score - shift)
        off = np.exp(score - shift + exponent) - weight
        sunk = np.exp(sink - shift)
        off_sunk = np.exp(sink - shift + sinks + 6 * self.unit * scale + rescaled) - sunk
        total = weight.sum(axis=0) + sunk
        # Sums of which no maximum was taken off are scaled to a larger sink by a factor that may underflow.
        faded = np.where(np.exp(-np.where(sink > 0, sink, 0.0)) < 2 * self.tiny, self.tiny * self.most, 0.0)
        lost = len(score) * self.tiny * (1 / total + 1 / self.least) + faded
        relative = (off.sum(axis=0) + off_sunk) / total + lost + (len(score) + 2) * self.unit
        within = (scale <= self.largest / 4) & (relative < 0.5) & np.isfinite(scores.error).all(axis=0)
        relative = np.where(total == 0, 0.0, np.where(within, relative, np.inf))
        return Weights(weight, off, total, relative, score == -np.inf, faded)

    def log_sum(self, weights: Weights, size: Array, result: Array) -> Errors:
        """The log-sum-exp of those weights; `size` is that of the scores, `result` what comes out."""
        relative = weights.relative
        largest = np.where(np.isfinite(size), size, 0.0).max(axis=0, initial=0.0)
        error = relative / (1 - relative) + FUNCTION * self.unit * (1 + largest + np.abs(result))
        return self.settled(result, np.abs(result), error, np.isfinite(relative))

    def mean(self, weights: Weights, value: Array, values: Errors, result: Array) -> Errors:
        """The softmax of those weights with these values.

        Infinities of both signs may have one factor that is infinite, as those of a sum may.
        """
        weight, off, total, relative, none, faded = weights
        rounded = self.weight + self.product + (len(weight) + 4) * self.unit
        counts = (weight > 0) | (off > 0)
        size = np.where(counts, values.size, 0.0)
        terms = off * size + weight * size * rounded + (weight + off) * np.where(counts, values.error, 0.0)
        floor = (self.tiny + self.floor) * size
        wide = (weight * size).sum(axis=0) / total
        # Of weights and products that underflow where no maximum was taken off.
        lost = self.tiny / self.least * np.where(size > 0, size + 1, 0.0).sum(axis=0)
        lost += faded * size.max(axis=0, initial=0.0)
        error = (terms + floor).sum(axis=0) / total + lost + np.abs(result) * relative + 4 * self.unit * wide
        error /= 1 - relative
        # A small weight may be taken for 0, and one that underflows may be the product of two that do not.
        seen = np.isfinite(value) | none | (weight > max(1e-30, 2 * self.floor))
        certain = np.isfinite(relative) & (np.isfinite(values.error) & seen).all(axis=0)
        certain &= ~_of_both_signs(np.where(counts, value, 0.0))
        empty = total == 0
        error = np.where(empty & np.isfinite(relative), 0.0, error)
        return self.settled(result, np.where(empty, 0.0, wide), error, certain)


def _of_both_signs(terms: Array) -> Array:
    """Where there are infinities of both signs along the first dimension, and no NaN."""
    found = (terms == np.inf).any(axis=0) & (terms == -np.inf).any(axis=0) & ~np.isnan(terms).any(axis=0)
    return np.asarray(found)


class Weights(NamedTuple):
    """Weights of keys along the first dimension, how far off each may be, their sum, and its relative error.

    `none` says where a weight is 0 for certain: where the score is -inf. `faded` is how far off the mean of ones may be
    that are scaled to a sink.
    """

    weight: Array
    off: Array
    total: Array
    relative: Array
    none: Array
    faded: Array


WEIGHTS = {"f16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 2.0**-134)}
"""Half a step of the types that weights are rounded to, at 1, and below the type's normal numbers."""

APPROXIMATION = 2.0**-11
"""What GPUs' approximation of a hyperbolic tangent is off by, of its result."""


def rounding_of(elements: Collection[str], narrowed: bool = False) -> Rounding:
    """How exactly a spec with tensors of these types is computed: in f64 where a tensor is f64, else in f32.

    `narrowed` says that products were made as a matrix unit makes them (narrow-products): weights rounded to the 16-bit
    types that values have, f32 numbers taken as three of fewer bits, and hyperbolic tangents of 16-bit numbers'
    products approximated (approximate-functions). The reference itself computes in f64: beside an f64 program its own
    roundings count too.
    """
    if "f64" in elements:
        double = np.finfo(np.float64)
        return Rounding(unit=2.0**-52, tiny=float(double.tiny), largest=float(double.max))
    weights = [WEIGHTS[element] for element in elements if narrowed and element in WEIGHTS]
    weight, floor = (max(column) for column in zip(*weights, strict=True)) if weights else (0.0, 0.0)
    function = APPROXIMATION if weights else 0.0
    return Rounding(2.0**-24, product=2.0**-21 if narrowed else 0.0, weight=weight, floor=floor, function=function)
