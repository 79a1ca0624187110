"""The operations of the `attn` dialect that remove an index variable: over features, and over the keys of a row."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.monoids import ALL, MAX, MIN, SUM
from attndsl.ir.spec import Float
from attndsl.ir.streams import Stream, Terms, V
from attndsl.ir.traits import Folds, Removes, RemovesEach, monoid_of
from attndsl.ir.variables import AxisOp, OverOp, verify_removed
from attndsl.ir.xdsl import (
    AnyFloat,
    AttrSizedOperandSegments,
    IndexType,
    IRDLOperation,
    Pure,
    SSAValue,
    UnitAttr,
    VarConstraint,
    VerifyException,
    base,
    i1,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

Summed = VarConstraint("Summed", base(AnyFloat) | base(IndexType))  # type: ignore[arg-type]
"""One floating-point type for all of an operation: the type that sums are kept in, f32 or f64."""


class ReduceAxisOp(IRDLOperation):
    """A reduction of `body` over all values of a feature variable, with a monoid."""

    body = operand_def(Summed)
    over = operand_def(IndexType)
    result = result_def(Summed)
    assembly_format = "$body `over` $over attr-dict `:` type($result)"

    def __init__(self, body: SSAValue, over: SSAValue) -> None:
        super().__init__(operands=[body, over], result_types=[body.type])

    def verify_(self) -> None:
        verify_removed(self.over, (AxisOp,))


@irdl_op_definition
class SumOp(ReduceAxisOp):
    """A contraction: the sum over all values of a feature variable, of real numbers or of integers, which wrap."""

    name = "attn.sum"
    traits = traits_def(Pure(), Removes(), Folds(SUM))


@irdl_op_definition
class AxisMaxOp(ReduceAxisOp):
    """The largest `body` over all values of a feature variable; -inf where there is none."""

    name = "attn.axis_max"
    traits = traits_def(Pure(), Removes(), Folds(MAX))


@irdl_op_definition
class AxisMinOp(ReduceAxisOp):
    """The smallest `body` over all values of a feature variable; inf where there is none."""

    name = "attn.axis_min"
    traits = traits_def(Pure(), Removes(), Folds(MIN))


@irdl_op_definition
class AllOp(ReduceAxisOp):
    """True where the operand is, for every value of a feature variable."""

    name = "attn.all"
    body = operand_def(i1)
    result = result_def(i1)
    traits = traits_def(Pure(), Removes(), Folds(ALL))
    assembly_format = "$body `over` $over attr-dict"


@irdl_op_definition
class TopOp(IRDLOperation):
    """The values of a feature variable in the order of their scores, along another one.

    At `at` = t stands the value of `over` whose `score` is number t of those `where` it counts: NaN first, then the
    largest, of equal ones the smaller value. It is -1 where there are fewer, or the score is NaN.

        %p = attn.top %s where %seen over %n at %t : f32
    """

    name = "attn.top"
    score = operand_def(Float)
    present = operand_def(i1)
    over = operand_def(IndexType)
    at = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Removes())
    assembly_format = "$score `where` $present `over` $over `at` $at attr-dict `:` type($score)"

    def __init__(self, score: SSAValue, over: SSAValue, at: SSAValue, present: SSAValue) -> None:
        super().__init__(operands=[score, present, over, at], result_types=[index])

    def verify_(self) -> None:
        verify_removed(self.over, (AxisOp,))
        if not isinstance(self.at.owner, AxisOp) or self.at is self.over:
            raise VerifyException("is at a value of another attn.axis")


class WeighOp(IRDLOperation):
    """A reduction over the key positions with the weights of scores: a stream of `values`, and what finishes it."""

    score = operand_def(Float)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    sink = opt_operand_def(Float)
    result = result_def(Float)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        verify_removed(self.over, (OverOp,))

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """What is weighed and summed, besides 1."""
        return ()

    def finished(self, stream: Stream, states: Sequence[V], terms: Terms[V]) -> V:
        """The result, of the states after all keys and the sink."""
        raise NotImplementedError


@irdl_op_definition
class SoftmaxOp(WeighOp):
    """The mean of `value` over the key positions, weighed by the softmax of `score`.

    exp(sink), where there is a sink, joins the denominator. 0 where the denominator is 0.
    """

    name = "attn.softmax"
    score = operand_def(Float)
    value = operand_def(Float)
    traits = traits_def(Pure(), Removes())
    assembly_format = "$score `,` $value `over` $over (`where` $where^)? (`sink` $sink^)? attr-dict `:` type($result)"

    def __init__(
        self, score: SSAValue, value: SSAValue, over: SSAValue, where: SSAValue | None, sink: SSAValue | None
    ) -> None:
        super().__init__(operands=[score, value, over, where, sink], result_types=[score.type])

    @property
    def values(self) -> tuple[SSAValue, ...]:
        return (self.value,)

    def finished(self, stream: Stream, states: Sequence[V], terms: Terms[V]) -> V:
        _, total, summed = states
        return stream.mean(total, summed, terms)


@irdl_op_definition
class LogSumExpOp(WeighOp):
    """log(exp(sink) + sum of exp(score)) over the key positions; -inf where there is none and no sink."""

    name = "attn.logsumexp"
    traits = traits_def(Pure(), Removes())
    assembly_format = "$score `over` $over (`where` $where^)? (`sink` $sink^)? attr-dict `:` type($result)"

    def __init__(self, score: SSAValue, over: SSAValue, where: SSAValue | None, sink: SSAValue | None) -> None:
        super().__init__(operands=[score, over, where, sink], result_types=[score.type])

    def finished(self, stream: Stream, states: Sequence[V], terms: Terms[V]) -> V:
        maximum, total = states
        return stream.logarithm(maximum, total, terms)


class ReduceOp(IRDLOperation):
    """A reduction of `body` over the key positions with a monoid: its one state is its result."""

    body = operand_def(Float)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    result = result_def(Float)
    assembly_format = "$body `over` $over (`where` $where^)? attr-dict `:` type($result)"

    def __init__(self, body: SSAValue, over: SSAValue, where: SSAValue | None) -> None:
        super().__init__(operands=[body, over, where], result_types=[body.type])

    def verify_(self) -> None:
        verify_removed(self.over, (OverOp,))

    @property
    def states(self) -> tuple[str, ...]:
        """What its states are called."""
        return (monoid_of(self).name,)

    @property
    def identities(self) -> tuple[int | float | bool, ...]:
        """The states of no keys."""
        return (monoid_of(self).identity(self.result.type),)

    @property
    def folded(self) -> tuple[SSAValue, ...]:
        """What a key brings into the states, but for what is summed."""
        return (self.body,)

    def merging(self, states: Sequence[SSAValue], over: SSAValue) -> tuple[ReduceOp, Sequence[SSAValue]]:
        """The reduction that merges states along a variable, and its results that stand for the merged ones."""
        merged = type(self)(states[0], over, None)
        return merged, merged.results


@irdl_op_definition
class TotalOp(ReduceOp):
    """The sum of `body` over the key positions; 0 where there is none.

    A `precise` one is a contraction of features that are walked as keys are: no factor of it is the weight of a key,
    which may be rounded. One that is `given` is what another kernel has summed, where that is finite.

        %t = attn.total %wc over %r precise : f32
        %t = attn.total %wc over %j where %seen given %summed : f32
    """

    name = "attn.total"
    body = operand_def(Float)  # once more, with the next two: a class's own operands come before those that it inherits
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    given = opt_operand_def(Float)
    precise = opt_prop_def(UnitAttr)
    assembly_format = (
        "$body `over` $over (`where` $where^)? (`precise` $precise^)? (`given` $given^)? attr-dict `:` type($result)"
    )
    traits = traits_def(Pure(), Removes(), Folds(SUM))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        body: SSAValue,
        over: SSAValue,
        where: SSAValue | None,
        precise: bool = False,
        given: SSAValue | None = None,
    ) -> None:
        IRDLOperation.__init__(
            self,
            operands=[body, over, where, given],
            properties={"precise": UnitAttr() if precise else None},
            result_types=[body.type],
        )

    @property
    def folded(self) -> tuple[SSAValue, ...]:
        return ()


@irdl_op_definition
class MaxOp(ReduceOp):
    """The largest `body` over the key positions; -inf where there is none."""

    name = "attn.max"
    traits = traits_def(Pure(), Removes(), Folds(MAX))


@irdl_op_definition
class MinOp(ReduceOp):
    """The smallest `body` over the key positions; inf where there is none."""

    name = "attn.min"
    traits = traits_def(Pure(), Removes(), Folds(MIN))


@irdl_op_definition
class ArgMaxOp(IRDLOperation):
    """The largest `score` over the key positions, and the least `place` that has it.

    A monoid of both: of two states the one with the larger maximum stands, of equal ones the lesser place. Empty: -inf
    and the largest integer, as where the maximum is NaN.

        %m, %p = attn.argmax %s, %j over %j where %seen : f32
    """

    name = "attn.argmax"
    score = operand_def(Float)
    place = operand_def(IndexType)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    maximum = result_def(Float)
    position = result_def(IndexType)
    traits = traits_def(Pure(), Removes())
    assembly_format = "$score `,` $place `over` $over (`where` $where^)? attr-dict `:` type($maximum)"

    def __init__(self, score: SSAValue, place: SSAValue, over: SSAValue, where: SSAValue | None) -> None:
        super().__init__(operands=[score, place, over, where], result_types=[score.type, place.type])

    def verify_(self) -> None:
        verify_removed(self.over, (OverOp,))

    @property
    def states(self) -> tuple[str, ...]:
        """What its states are called."""
        return (MAX.name, "position")

    @property
    def identities(self) -> tuple[int | float | bool, ...]:
        """The states of no keys."""
        return (MAX.identity(self.maximum.type), MIN.identity(self.position.type))

    @property
    def folded(self) -> tuple[SSAValue, ...]:
        """What a key brings into the states."""
        return (self.score, self.place)

    def merging(self, states: Sequence[SSAValue], over: SSAValue) -> tuple[ArgMaxOp, Sequence[SSAValue]]:
        """The reduction that merges states along a variable, and its results that stand for the merged ones."""
        merged = ArgMaxOp(states[0], states[1], over, None)
        return merged, merged.results


@irdl_op_definition
class StreamOp(IRDLOperation):
    """The streamed form of softmax: a monoid of a maximum, a sum and weighted sums, folded over the key positions.

    `maximum` = max score, `total` = sum of 2^(score - maximum), and for each value a sum of 2^(score - maximum) *
    value; e stands for 2 where `natural` is set. Empty: (-inf, 0, 0 …). Merging two states rescales both to the larger
    maximum, which is associative (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
    """

    name = "attn.stream"
    score = operand_def(Float)
    values = var_operand_def(Float)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    natural = opt_prop_def(UnitAttr)
    maximum = result_def(Float)
    total = result_def(Float)
    sums = var_result_def(Float)
    traits = traits_def(Pure(), RemovesEach())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`natural` $natural^)? $score `,` `(` $values `)` `over` $over (`where` $where^)? attr-dict "
        "`:` type($maximum) `,` type($total) `,` `(` type($sums) `)`"
    )

    def __init__(
        self,
        score: SSAValue,
        values: Sequence[SSAValue],
        over: SSAValue,
        where: SSAValue | None,
        natural: bool = False,
    ) -> None:
        super().__init__(
            operands=[score, values, over, where],
            properties={"natural": UnitAttr() if natural else None},
            result_types=[score.type, score.type, [score.type for _ in values]],
        )

    def verify_(self) -> None:
        verify_removed(self.over, (OverOp,))
        if len(self.values) != len(self.sums):
            raise VerifyException("has as many sums as values")

    @property
    def algebra(self) -> Stream:
        """The monoid that it folds with."""
        return Stream(self.natural is not None)

    @property
    def states(self) -> tuple[str, ...]:
        """What its states are called."""
        return self.algebra.states(len(self.sums))

    @property
    def identities(self) -> tuple[int | float | bool, ...]:
        """The states of no keys."""
        return self.algebra.identities(len(self.sums), self.total.type)

    @property
    def folded(self) -> tuple[SSAValue, ...]:
        """What a key brings into the states, but for what is summed."""
        return (self.score,)

    def merging(self, states: Sequence[SSAValue], over: SSAValue) -> tuple[StreamOp, Sequence[SSAValue]]:
        """The reduction that merges states along a variable, and its results that stand for the merged ones.

        It is a stream of the states' maxima. Its own total counts their number; the sum of totals is one of its sums.
        """
        merged = StreamOp(states[0], states[1:], over, None, self.natural is not None)
        return merged, (merged.maximum, *merged.sums)
