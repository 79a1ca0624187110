"""The `attn` dialect: *what* is computed.

A kernel's body is flat SSA. A value is not one number but a function of the index variables that it depends on
through its operands: `attn.each`, `attn.over` and `attn.axis` introduce such variables, a reduction removes one.
Scalar arithmetic is stock `arith` and `math`. So an index map, a mask or a contraction is plain dataflow, and no type
has to repeat a shape.

    spec.tensor @k "input" "T" ["B", "H", "N", "D"]
    attn.kernel @mha {
      %H = spec.dim "H"
      %h = attn.each "h" to %H
      ...
      %x = attn.read @k[%b, %h, %j, %d] : f32
      %y = arith.mulf %x, %q : f32
      %s = attn.sum %y over %d : f32
      %r = attn.softmax %s, %v over %j where %m : f32
      attn.write @o[%b, %h, %i, %e] = %r : f32
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.monoids import ALL, MAX, MIN, SUM
from attndsl.ir.spec import Float, verify_access
from attndsl.ir.streams import Stream, Terms, V
from attndsl.ir.traits import Binds, Folds, Removes, RemovesEach, WellFormed, monoid_of
from attndsl.ir.xdsl import (
    AnyFloat,
    Attribute,
    AttrSizedOperandSegments,
    Block,
    Dialect,
    DictionaryAttr,
    IndexType,
    IRDLOperation,
    IsolatedFromAbove,
    NoTerminator,
    Pure,
    Region,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
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
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

Summed = VarConstraint("Summed", base(AnyFloat) | base(IndexType))  # type: ignore[arg-type]
"""One floating-point type for all of an operation: the type that sums are kept in, f32 or f64."""


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One `each … over …` of the spec, or a step of it, computed by one kernel; `schedule` holds what the spec pins.

    `form` tells apart two ways to compute the same outputs, of which a launch takes one: a kernel of the form `whole`
    runs where "SPLITS" is chosen to be 1, and those of the form `split` where it is more. A kernel without a form runs
    always. Kernels run in their order.

    So do `when` and `unless`, by what a call's extents are: of a condition on them, kernels that have it as `when` run
    where it holds, those that have it as `unless` where it does not.

        attn.kernel @k_reassociated when "M * D < N * R" { ... }
        attn.kernel @k unless "M * D < N * R" { ... }
    """

    name = "attn.kernel"
    entry = prop_def(SymbolNameConstraint())
    form = opt_prop_def(StringAttr)
    when = opt_prop_def(ConditionAttr)
    unless = opt_prop_def(ConditionAttr)
    schedule = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), IsolatedFromAbove(), WellFormed())
    assembly_format = (
        "$entry (`form` $form^)? (`when` $when^)? (`unless` $unless^)? (`schedule` $schedule^)? $body attr-dict"
    )

    def __init__(self, name: str, schedule: DictionaryAttr | None = None, body: Region | None = None) -> None:
        super().__init__(
            properties={"entry": StringAttr(name), "schedule": schedule}, regions=[body or Region(Block())]
        )


class IndexOp(IRDLOperation):
    """An index variable: it takes the values 0 … extent - 1.

    The extent of `each` and `over` variables may read tensors; `bound`, where it is given, is no smaller and does not.
    """

    variable = prop_def(StringAttr)
    extent = operand_def(IndexType)
    bound = opt_operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Binds())
    assembly_format = "$variable `to` $extent (`up` `to` $bound^)? attr-dict"

    def __init__(self, variable: str, extent: SSAValue, bound: SSAValue | None = None) -> None:
        super().__init__(properties={"variable": StringAttr(variable)}, operands=[extent, bound], result_types=[index])


@irdl_op_definition
class EachOp(IndexOp):
    """A variable that tells rows apart."""

    name = "attn.each"


@irdl_op_definition
class OverOp(IndexOp):
    """The variable that tells the key positions of a row apart. A kernel has at most one.

    It takes the values start … extent - 1, 0 … where there is no start. Both may depend on the row.

    With `split %p of %n` this range is split into n contiguous ones, some of them perhaps empty, and it takes the
    values of number p. Where the splits are is left open, but they are the same for all that is reduced over the
    variable.
    """

    name = "attn.over"
    extent = operand_def(IndexType)
    bound = opt_operand_def(IndexType)
    start = opt_operand_def(IndexType)
    split = opt_operand_def(IndexType)
    splits = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$variable (`from` $start^)? `to` $extent (`up` `to` $bound^)? (`split` $split^ `of` $splits)? attr-dict"
    )

    def __init__(
        self,
        variable: str,
        extent: SSAValue,
        bound: SSAValue | None = None,
        start: SSAValue | None = None,
        split: SSAValue | None = None,
        splits: SSAValue | None = None,
    ) -> None:
        IRDLOperation.__init__(
            self,
            properties={"variable": StringAttr(variable)},
            operands=[extent, bound, start, split, splits],
            result_types=[index],
        )

    def verify_(self) -> None:
        if (self.split is None) != (self.splits is None):
            raise VerifyException("`split` and `of` are given together or not at all")


@irdl_op_definition
class AxisOp(IndexOp):
    """A feature variable: contracted, or an axis of an output."""

    name = "attn.axis"


@irdl_op_definition
class GridOp(IndexOp):
    """A variable that tells rows apart whose keys differ: each of its values is another program's work."""

    name = "attn.grid"


@irdl_op_definition
class RowOp(IndexOp):
    """A variable that tells rows apart whose keys are the same: they share tiles. The first one varies slowest."""

    name = "attn.row"


@irdl_op_definition
class ReadOp(IRDLOperation):
    """An element of a tensor, widened; 0 (or false) where `where` is false, and then no memory is touched."""

    name = "attn.read"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    where = opt_operand_def(i1)
    result = result_def()
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$tensor `[` $indices `]` (`where` $where^)? attr-dict `:` type($result)"

    def __init__(self, tensor: str, indices: Sequence[SSAValue], where: SSAValue | None, type_: Attribute) -> None:
        super().__init__(properties={"tensor": SymbolRefAttr(tensor)}, operands=[indices, where], result_types=[type_])

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "input", self.result.type)


@irdl_op_definition
class WriteOp(IRDLOperation):
    """Sets an element of an output, for all values of the variables involved; nothing where `where` is false."""

    name = "attn.write"
    tensor = prop_def(SymbolRefAttr)
    indices = var_operand_def(IndexType)
    value = operand_def(AnyFloat)
    where = opt_operand_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$tensor `[` $indices `]` `=` $value (`where` $where^)? attr-dict `:` type($value)"

    def __init__(self, tensor: str, indices: Sequence[SSAValue], value: SSAValue, where: SSAValue | None) -> None:
        super().__init__(properties={"tensor": SymbolRefAttr(tensor)}, operands=[indices, value, where])

    def verify_(self) -> None:
        verify_access(self, self.tensor, self.indices, "output", self.value.type)


def _verify_removed(variable: SSAValue, kinds: tuple[type[IndexOp], ...]) -> None:
    if not isinstance(variable.owner, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise VerifyException(f"reduces over a value that is no {names}")


class ReduceAxisOp(IRDLOperation):
    """A reduction of `body` over all values of a feature variable, with a monoid."""

    body = operand_def(Summed)
    over = operand_def(IndexType)
    result = result_def(Summed)
    assembly_format = "$body `over` $over attr-dict `:` type($result)"

    def __init__(self, body: SSAValue, over: SSAValue) -> None:
        super().__init__(operands=[body, over], result_types=[body.type])

    def verify_(self) -> None:
        _verify_removed(self.over, (AxisOp,))


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


class WeighOp(IRDLOperation):
    """A reduction over the key positions with the weights of scores: a stream of `values`, and what finishes it."""

    score = operand_def(Float)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    sink = opt_operand_def(Float)
    result = result_def(Float)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        _verify_removed(self.over, (OverOp,))

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
        _verify_removed(self.over, (OverOp,))

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
    """The sum of `body` over the key positions; 0 where there is none."""

    name = "attn.total"
    traits = traits_def(Pure(), Removes(), Folds(SUM))

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
        _verify_removed(self.over, (OverOp,))
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


ATTN = Dialect(
    "attn",
    [
        KernelOp, EachOp, OverOp, AxisOp, GridOp, RowOp, ReadOp, WriteOp, SumOp, AxisMaxOp, AxisMinOp, AllOp,
        SoftmaxOp, LogSumExpOp, TotalOp, MaxOp, MinOp, StreamOp,
    ],
)  # fmt: skip
