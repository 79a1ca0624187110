"""The `tile` dialect: *how* a kernel walks what is computed.

As in `attn`, a value is a function of index variables, and arithmetic is stock `arith` and `math`. But now each
variable is either a program's (`tile.program`: one value at a time), a loop's (`tile.loop`: likewise) or an axis's
(`tile.range`: a whole axis of a tile at once). So the axes of a value's tile are the axes that it depends on, and
values that depend on none are the same for the whole tile.

    tile.kernel @mha {
      %B = spec.dim "B"
      %c128 = arith.constant 128 : index
      %b = tile.program "b" to %B step %c1
      %i0 = tile.program "i" to %M step %c128
      %i = tile.range "i" from %i0 to %M size %c128
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%b, %i, %d] : f32
      %acc = tile.loop %j0 = %c0 to %N step %c512 iter_args(%a = %zero) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %c512
        %k = tile.load @k[%b, %j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        ...
      }
      tile.store @o[%b, %i, %e] = %acc : f32
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.homes import HomeOp, IntoOp, into_of
from attndsl.ir.loop import FusedOp, LoopOp, OuterLoopOp, RangeOp, YieldOp, verify_axis
from attndsl.ir.masks import FiniteOp, MaskOp
from attndsl.ir.memory import LoadOp, PlaceOp, StoreOp
from attndsl.ir.monoids import ALL, MAX, MIN, SUM, Monoid
from attndsl.ir.packs import PackOp
from attndsl.ir.spec import ChoiceOp, Float
from attndsl.ir.statements import (
    CoversOp,
    DeferredOp,
    KeptOp,
    LaunchedOp,
    NarrowOp,
    PresentOp,
    ThreadsOp,
    UnsignedOp,
    ValuesOp,
    WithinOp,
    WrapsOp,
    of_kind,
)
from attndsl.ir.traits import Axes, Flattens, Folds, Removes, Renames, WellFormed
from attndsl.ir.xdsl import (
    ArrayAttr,
    AttrSizedOperandSegments,
    Block,
    Dialect,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    IsolatedFromAbove,
    NoTerminator,
    Operation,
    Pure,
    Region,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
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
)

__all__ = [
    "STATEMENTS",
    "TILE",
    "AllOp",
    "BroadcastOp",
    "CoversOp",
    "DeferredOp",
    "DotOp",
    "FiniteOp",
    "FlattenOp",
    "FusedOp",
    "HoldsOp",
    "HomeOp",
    "IdentityOp",
    "IntoOp",
    "KeptOp",
    "KernelOp",
    "LaunchedOp",
    "LoadOp",
    "LoopOp",
    "MaskOp",
    "MaxOp",
    "MinOp",
    "NarrowOp",
    "OuterLoopOp",
    "PackOp",
    "PaddedOp",
    "PlaceOp",
    "PresentOp",
    "ProgramOp",
    "RangeOp",
    "ReduceOp",
    "RenameAxisOp",
    "RepeatOp",
    "StoreOp",
    "SumOp",
    "ThreadsOp",
    "UnsignedOp",
    "ValuesOp",
    "WidenedOp",
    "WithinOp",
    "WrapsOp",
    "YieldOp",
    "into_of",
    "is_column",
    "is_key",
    "kernel_around",
    "padded",
    "users",
    "verify_axis",
]  # fmt: skip


@irdl_op_definition
class KernelOp(IRDLOperation):
    """What one program does; it runs once for every combination of its `tile.program` values.

    `form`, `when`, `unless` and `instead` say when it runs at all, as those of `attn.kernel` do. `schedules` lists what
    a launch may choose between, from tiles of few rows to tiles of many: a size for each `spec.choice` of a tile, and
    how a GPU runs it, `num_warps` and `num_stages`. That of a kernel whose warps have roles is `ROLES`, with
    `LEAST_KEYS`, the keys from which on a launch takes it by itself, and `FEWER_KEYS`, from which on it does where each
    processor has `ROUNDS` tiles of rows with these to do, or as much; where there is no schedule, only a launch does
    that is asked to. One of the form `wide` has none: a launch that takes roles takes it by rounds of tiles. One that
    is `scheduled as` another of its form goes right before it: it runs where that runs, in the schedule that is chosen
    for that, so that both have the same tiles. Its programs are by some of the other's variables.

    `bounds` is a sum of products, each a count and its factors: a dim's extent `"M"`, a parameter's magnitude `@window`
    or a tensor's stride `[@k, 1]`. No integer that `tile.narrow` names is further from 0.

    `strided` names the tensors whose strides code is made for, and made again for others; that of the last axis of a
    tensor always counts. Where it widens `by bits`, bf16 is widened as a pattern of bits, by a shift; what is
    `widened by loops` are tiles of f16 `from` so many numbers on.
    """

    name = "tile.kernel"
    entry = prop_def(SymbolNameConstraint())
    form = opt_prop_def(StringAttr)
    when = opt_prop_def(ConditionAttr)
    unless = opt_prop_def(ConditionAttr)
    instead = opt_prop_def(ArrayAttr[SymbolRefAttr])
    schedules = opt_prop_def(ArrayAttr[DictionaryAttr])
    scheduled_as = opt_prop_def(SymbolRefAttr)
    bounds = opt_prop_def(ArrayAttr)
    strided = opt_prop_def(ArrayAttr[SymbolRefAttr])
    by_bits = opt_prop_def(UnitAttr)
    by_loops = opt_prop_def(IntegerAttr[IndexType])
    rows_last = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), IsolatedFromAbove(), WellFormed())
    assembly_format = (
        "$entry (`form` $form^)? (`when` $when^)? (`unless` $unless^)? (`instead` `of` $instead^)? "
        "(`schedules` $schedules^)? "
        "(`scheduled` `as` $scheduled_as^)? (`bounds` $bounds^)? (`strided` $strided^)? "
        "(`widens` `by` `bits` $by_bits^)? (`widened` `by` `loops` `from` $by_loops^)? "
        "(`rows` `last` $rows_last^)? $body attr-dict"
    )

    def __init__(self, name: str, form: StringAttr | None = None, body: Region | None = None) -> None:
        super().__init__(properties={"entry": StringAttr(name), "form": form}, regions=[body or Region(Block())])

    @property
    def scheduling(self) -> KernelOp:
        """The kernel whose schedule it runs in: itself, or that which it is scheduled as."""
        name, following = self.scheduled_as, self.next_op
        if name is None:
            return self
        while isinstance(following, KernelOp) and following.scheduled_as == name:
            following = following.next_op
        if not isinstance(following, KernelOp) or following.entry.data != name.string_value():
            raise VerifyException(f"is scheduled as {name}, which no kernel right behind it is")
        return following

    @property
    def with_roles(self) -> bool:
        """Whether its warps have roles, in programs of either size, or those of what it is scheduled as."""
        return self.form is not None and self.form.data in ("roles", "wide")

    @property
    def merges(self) -> bool:
        """Whether it walks over splits of the keys, which other programs folded."""
        ends = [op.ub.owner for op in of_kind(self, LoopOp)]
        return any(isinstance(end, ChoiceOp) and end.most is not None for end in ends)


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """A variable of which each program has one value: 0, step, 2 * step … below the extent.

    The extent may depend on earlier programs' values and read tensors; `bound`, where it is given, is no smaller and
    does neither, so that a launch can be sized without reading data. `descending` asks for the large values to start
    first: they have the most keys, and what starts last should be short. One of `columns` steps through tiles of an
    axis that no row varies along, as features do.

    Programs run in any order, or at once: none reads what another one of its kernel writes, and no two write one
    element of a tensor, unless data send two rows to one, where either may stay, or they add to it.
    """

    name = "tile.program"
    variable = prop_def(StringAttr)
    extent = operand_def(IndexType)
    bound = opt_operand_def(IndexType)
    step = operand_def(IndexType)
    descending = opt_prop_def(UnitAttr)
    columns = opt_prop_def(UnitAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`descending` $descending^)? (`columns` $columns^)? $variable `to` $extent (`up` `to` $bound^)? `step` $step"
        " attr-dict"
    )

    def __init__(
        self,
        variable: str,
        extent: SSAValue,
        bound: SSAValue | None,
        step: SSAValue,
        *,
        descending: bool = False,
        columns: bool = False,
    ) -> None:
        super().__init__(
            properties={
                "variable": StringAttr(variable),
                "descending": UnitAttr() if descending else None,
                "columns": UnitAttr() if columns else None,
            },
            operands=[extent, bound, step],
            result_types=[index],
        )


@irdl_op_definition
class PaddedOp(IRDLOperation):
    """The size of an axis that fixed tiles can have: the least power of two that is no smaller, and at least 16."""

    name = "tile.padded"
    size = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$size attr-dict"

    def __init__(self, size: SSAValue) -> None:
        super().__init__(operands=[size], result_types=[index])


def padded(size: int) -> int:
    """What `tile.padded` gives for a size."""
    return 1 << max(4, (size - 1).bit_length())


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Broadcasts a value along axes that it does not depend on, as the initial value of an accumulator."""

    name = "tile.broadcast"
    value = operand_def()
    axes = var_operand_def(IndexType)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$value `over` `(` $axes `)` attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, axes: Sequence[SSAValue]) -> None:
        super().__init__(operands=[value, axes], result_types=[value.type])

    def verify_(self) -> None:
        for axis in self.axes:
            verify_axis(axis)
        if self.value.type != self.result.type:
            raise VerifyException("gives what it is given, only wider")


@irdl_op_definition
class RenameAxisOp(IRDLOperation):
    """Renames an axis of a tile of integers: what iteration n of a loop loads for iteration n + 1 gets its axis."""

    name = "tile.rename_axis"
    value = operand_def(IndexType)
    old = operand_def(IndexType)
    new = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Renames())
    assembly_format = "$value `from` $old `to` $new attr-dict"

    def __init__(self, value: SSAValue, old: SSAValue, new: SSAValue) -> None:
        super().__init__(operands=[value, old, new], result_types=[index])

    def verify_(self) -> None:
        verify_axis(self.old)
        verify_axis(self.new)


@irdl_op_definition
class RepeatOp(IRDLOperation):
    """Repeats each element along an axis: at place n of `new` stands what `value` has at place n / `times` of `old`.

    So one scale becomes those of all the numbers of its block. `new` has `times` as many places as `old`.
    """

    name = "tile.repeat"
    value = operand_def()
    old = operand_def(IndexType)
    new = operand_def(IndexType)
    times = prop_def(IntegerAttr[IndexType])
    result = result_def()
    traits = traits_def(Pure(), Renames())
    assembly_format = "$value `from` $old `to` $new `times` $times attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, old: SSAValue, new: SSAValue, times: int) -> None:
        super().__init__(
            operands=[value, old, new], properties={"times": IntegerAttr(times, index)}, result_types=[value.type]
        )

    def verify_(self) -> None:
        verify_axis(self.old)
        verify_axis(self.new)
        if self.value.type != self.result.type:
            raise VerifyException("gives the type that it takes")
        if self.times.value.data < 1:
            raise VerifyException("repeats each element at least once")


@irdl_op_definition
class FlattenOp(IRDLOperation):
    """Lays blocks end to end, the first one from `origin` on: at n of `new` stands what is laid n - `origin` places on.

    Blocks are those of the axis `blocks`, places in them those of the axis `within`; `new` has some of all of them.
    What does not vary within blocks is repeated. So a page is read once, and not each of its keys:

        %page0 = arith.floordivsi %j0, %S : index
        %first = arith.muli %page0, %S : index
        %page = tile.range "j_block" from %page0 to %page_end size %pages
        %slot = tile.range "j_place" from %zero to %S size %S
        %table = tile.load @table[%page] : index
        %rows = tile.load @pages[%table, %slot, %d] : f32
        %k = tile.flatten %rows from %page, %slot at %first to %j : f32 to f32
    """

    name = "tile.flatten"
    value = operand_def()
    blocks = operand_def(IndexType)
    within = operand_def(IndexType)
    origin = operand_def(IndexType)
    new = operand_def(IndexType)
    result = result_def()
    traits = traits_def(Pure(), Flattens())
    assembly_format = (
        "$value `from` $blocks `,` $within `at` $origin `to` $new attr-dict `:` type($value) `to` type($result)"
    )

    def __init__(self, value: SSAValue, blocks: SSAValue, within: SSAValue, origin: SSAValue, new: SSAValue) -> None:
        super().__init__(operands=[value, blocks, within, origin, new], result_types=[value.type])

    def verify_(self) -> None:
        for axis in (self.blocks, self.within, self.new):
            verify_axis(axis)
        if self.value.type != self.result.type:
            raise VerifyException("gives the type that it takes")


@irdl_op_definition
class WidenedOp(IRDLOperation):
    """A tile that `tile.kept` names, in the type that the IR gives it: the same numbers."""

    name = "tile.widened"
    value = operand_def(Float)
    result = result_def(Float)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class IdentityOp(IRDLOperation):
    """The identity element of an integer minimum, `"min"`, or of a maximum, in the launch's index width.

    Further from 0 than all that it is compared with: 2^63 - 1 and -2^63, or, where that width is 32 bits, 2^31 - 1 and
    its negative. It takes part in no arithmetic.
    """

    name = "tile.identity"
    of = prop_def(StringAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "`of` $of attr-dict"

    def __init__(self, of: str) -> None:
        super().__init__(properties={"of": StringAttr(of)}, result_types=[index])

    @property
    def in_64_bits(self) -> int:
        """What it is in 64 bits."""
        return int((MIN if self.of.data == "min" else MAX).identity(index))

    def verify_(self) -> None:
        if self.of.data not in ("min", "max"):
            raise VerifyException(f"is that of a min or a max, not of {self.of.data}")


def is_key(axis: SSAValue) -> bool:
    """Whether an axis is one of keys: it starts elsewhere at each turn of a loop, or is that of what a loop carries."""
    if not isinstance(axis.owner, RangeOp):
        return False
    around = axis.owner.parent_op()
    while around is not None and around.name == "scf.if":
        around = around.parent_op()
    # An axis has many uses: that of a type's own class is the quickest question.
    return isinstance(around, LoopOp) or any(type(use.operation) is RenameAxisOp for use in axis.uses)


def is_row(axis: SSAValue) -> bool:
    """Whether an axis is one of rows: it starts where a program does."""
    return isinstance(axis.owner, RangeOp) and isinstance(axis.owner.start.owner, ProgramOp) and not is_column(axis)


def is_column(axis: SSAValue) -> bool:
    """Whether an axis is that of the columns: it starts where a program says that it has columns."""
    start = axis.owner.start.owner if isinstance(axis.owner, RangeOp) else None
    return isinstance(start, ProgramOp) and start.columns is not None


class ReduceOp(IRDLOperation):
    """What removes an axis from one value, with a monoid."""

    body = operand_def()
    over = operand_def(IndexType)
    result = result_def()
    assembly_format = "$body `over` $over attr-dict `:` type($body) `to` type($result)"

    def __init__(self, body: SSAValue, over: SSAValue) -> None:
        super().__init__(operands=[body, over], result_types=[body.type])

    def verify_(self) -> None:
        verify_axis(self.over)
        if self.body.type != self.result.type:
            raise VerifyException("gives the type that it takes")


@irdl_op_definition
class SumOp(ReduceOp):
    """The sum along an axis; 0 where the axis is empty."""

    name = "tile.sum"
    traits = traits_def(Pure(), Removes(), Folds(SUM))


@irdl_op_definition
class MaxOp(ReduceOp):
    """The largest along an axis; -inf, or the least integer, where the axis is empty."""

    name = "tile.max"
    traits = traits_def(Pure(), Removes(), Folds(MAX))


@irdl_op_definition
class MinOp(ReduceOp):
    """The smallest along an axis; +inf, or the largest integer, where the axis is empty."""

    name = "tile.min"
    traits = traits_def(Pure(), Removes(), Folds(MIN))


@irdl_op_definition
class AllOp(ReduceOp):
    """True where all along an axis are; true where the axis is empty."""

    name = "tile.all"
    traits = traits_def(Pure(), Removes(), Folds(ALL))


@irdl_op_definition
class TopOp(IRDLOperation):
    """The places along an axis in the order of their scores, along another axis.

    At `at` = t stands the place of `over` whose `score` is number t of those that are `present`: NaN first, then the
    largest, of equal ones the smaller place. It is -1 where there are fewer, or the score is NaN.
    """

    name = "tile.top"
    score = operand_def(Float)
    present = operand_def(i1)
    over = operand_def(IndexType)
    at = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Removes())
    assembly_format = "$score `where` $present `over` $over `at` $at attr-dict `:` type($score)"

    def __init__(self, score: SSAValue, present: SSAValue, over: SSAValue, at: SSAValue) -> None:
        super().__init__(operands=[score, present, over, at], result_types=[index])

    def verify_(self) -> None:
        verify_axis(self.over)
        verify_axis(self.at)


def reduction(monoid: Monoid) -> type[ReduceOp]:
    """The operation that reduces an axis with a monoid."""
    return next(kind for kind in (SumOp, MaxOp, MinOp, AllOp) if kind.has_trait(Folds(monoid)))


@irdl_op_definition
class DotOp(IRDLOperation):
    """The sum along an axis of the products of two values: a matrix product, out[i, j] = sum over k of x[i, k] y[k, j].

    Other axes that both vary along are batch axes, which the product keeps. It is taken for each of their values:
    out[b, i, j] = sum over k of x[b, i, k] y[b, k, j]. An axis of one operand alone is one, too, where a kernel
    computes several programs at once along it, and the operand has another of its own.

    `where` says which terms count. At the others `lhs` is 0 (or NaN), and the term is left out whatever `rhs` holds
    there: it is selected, not multiplied, so that an absent position's NaN or Inf stays where it is.

    With `rounded`, f16 or bf16, both operands are rounded to that type before they are multiplied; the products are
    exact, and summed as the result's type. With `tf32x3` each operand is taken as the sum of two numbers of 11 bits,
    and only the product of the two smaller ones is left out: an error of 2^-21 of a product (Ootomo and Yokota,
    "Recovering single precision accuracy from Tensor Cores …", 2022).

    With `slices` a product of two matrices is made so many rows at a time, rows being the axis that its tile has first:
    the same sums, as a product that a library has other code for.

    One that is `streamed` is, where one operand has few rows, a loop that reads the other once: the same sums again.
    The loop is for those with so many multiplications at least.

    A `precise` one has no operand that is the weight of a key, which may be rounded to a type that does not hold it.
    """

    name = "tile.dot"
    lhs = operand_def(Float)
    rhs = operand_def(Float)
    over = operand_def(IndexType)
    where = opt_operand_def(i1)
    precise = opt_prop_def(UnitAttr)
    rounded = opt_prop_def(StringAttr)
    slices = opt_prop_def(IntegerAttr[IndexType])
    streamed = opt_prop_def(IntegerAttr[IndexType])
    result = result_def(Float)
    traits = traits_def(Pure(), Removes())
    assembly_format = (
        "$lhs `,` $rhs `over` $over (`where` $where^)? (`precise` $precise^)? (`rounded` `to` $rounded^)? "
        "(`in` `slices` `of` $slices^)? (`streamed` `from` $streamed^)? "
        "attr-dict `:` type($result)"
    )

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, over: SSAValue, where: SSAValue | None = None, precise: bool = False
    ) -> None:
        properties = {"precise": UnitAttr() if precise else None}
        super().__init__(operands=[lhs, rhs, over, where], properties=properties, result_types=[lhs.type])

    def verify_(self) -> None:
        verify_axis(self.over)
        if self.rounded is not None and self.rounded.data not in ("f16", "bf16", "tf32x3"):
            raise VerifyException(f"operands are rounded to f16, bf16 or tf32x3, not to {self.rounded.data}")
        if self.slices is not None and self.slices.value.data < 1:
            raise VerifyException("a slice has a row at least")
        if self.streamed is not None and self.streamed.value.data < 1:
            raise VerifyException("a product that is streamed has a multiplication at least")

    def sides(self, axes: Callable[[SSAValue], Axes], batch: Axes = frozenset()) -> tuple[Axes, Axes, Axes]:
        """The axes that are not summed: batch axes, and those of `lhs` and of `rhs` alone.

        Batch axes are those of both, and of one those of `batch`, unless it has no other of its own. Only CPUs compute
        programs at once: before and elsewhere none is asked for.
        """
        left, right = axes(self.lhs) - {self.over}, axes(self.rhs) - {self.over}
        of_left, of_right = (own - batch or own for own in (left - right, right - left))
        return (left | right) - of_left - of_right, of_left, of_right

    def is_of_matrices(self, axes: Callable[[SSAValue], Axes], batch: Axes = frozenset()) -> bool:
        """Whether each operand has one axis of its own, beside batch axes and that which is summed."""
        _, left, right = self.sides(axes, batch)
        return len(left) == len(right) == 1


@irdl_op_definition
class HoldsOp(IRDLOperation):
    """Says that a condition holds, for every row, at the keys from `start` up to but not including `stop`.

    Elsewhere it may hold too. This does nothing; a pass may rest on it.
    """

    name = "tile.holds"
    condition = operand_def(i1)
    over = operand_def(IndexType)
    start = operand_def(IndexType)
    stop = operand_def(IndexType)
    assembly_format = "$condition `over` $over `from` $start `to` $stop attr-dict"

    def __init__(self, condition: SSAValue, over: SSAValue, start: SSAValue, stop: SSAValue) -> None:
        super().__init__(operands=[condition, over, start, stop])

    def verify_(self) -> None:
        verify_axis(self.over)
        loop = self.parent_op()
        if not isinstance(loop, LoopOp) or self.over.owner.parent_op() is not loop:
            raise VerifyException("stands in the loop over its keys")
        if any(loop.is_ancestor(end.owner) for end in (self.start, self.stop)):
            raise VerifyException("has ends that the loop does not change")


def kernel_around(op: Operation) -> KernelOp | None:
    """The kernel that an operation stands in; None where it stands in none."""
    around = op.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        around = around.parent_op()
    return around


STATEMENTS = (PresentOp, HoldsOp, WithinOp, CoversOp, IntoOp, ValuesOp)
"""The operations that only say something of values."""


def users(value: SSAValue) -> list[Operation]:
    """The operations that compute with a value, once for each use: what only says something of it does not."""
    using: list[Operation] = [use.operation for use in value.uses]
    return [op for op in using if not _is_statement(type(op))]


@cache
def _is_statement(kind: type[Operation]) -> bool:
    """Asked once for each type: this is asked of nearly every use."""
    return issubclass(kind, STATEMENTS)


TILE = Dialect(
    "tile",
    [
        KernelOp,
        ProgramOp,
        RangeOp,
        LoopOp,
        OuterLoopOp,
        FusedOp,
        YieldOp,
        PaddedOp,
        PackOp,
        PlaceOp,
        LoadOp,
        StoreOp,
        BroadcastOp,
        RenameAxisOp,
        RepeatOp,
        FlattenOp,
        WidenedOp,
        IdentityOp,
        SumOp,
        MaxOp,
        MinOp,
        AllOp,
        TopOp,
        DotOp,
        MaskOp,
        FiniteOp,
        PresentOp,
        HoldsOp,
        WithinOp,
        CoversOp,
        NarrowOp,
        KeptOp,
        DeferredOp,
        LaunchedOp,
        ThreadsOp,
        UnsignedOp,
        WrapsOp,
        HomeOp,
        IntoOp,
    ],
)
