"""What a `tile` kernel says of its values, for a pass or an emitter: its operations that compute nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TypeVar

from attndsl.ir.bounds import Bound, bounds_of
from attndsl.ir.loop import LoopOp
from attndsl.ir.traits import WellFormed
from attndsl.ir.xdsl import (
    AnyFloat,
    AttrSizedOperandSegments,
    Float64Type,
    FloatAttr,
    IndexType,
    IRDLOperation,
    Operation,
    SSAValue,
    StringAttr,
    VerifyException,
    arith,
    f64,
    i1,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)

Kind = TypeVar("Kind", bound=Operation)


@irdl_op_definition
class PresentOp(IRDLOperation):
    """Says which keys of the loop that it stands in count: those at which all conditions hold.

    A key at which one is false for a row leaves what the loop carries for that row as it is. This does nothing; a pass
    may rest on it.
    """

    name = "tile.present"
    conditions = var_operand_def(i1)
    assembly_format = "$conditions attr-dict"

    def __init__(self, conditions: Sequence[SSAValue]) -> None:
        super().__init__(operands=[conditions])

    def verify_(self) -> None:
        if not isinstance(self.parent_op(), LoopOp):
            raise VerifyException("stands in a loop over keys")


class ValuesOp(IRDLOperation):
    """What says something of values, and does nothing: an emitter reads it."""

    values = var_operand_def()
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


def operations(kernel: Operation) -> list[Operation]:
    """What a kernel holds, in the order of `walk` and in a third of its time, but itself."""
    found: list[Operation] = []
    for block in (block for region in kernel.regions for block in region.blocks):
        op = block.first_op
        while op is not None:
            found.append(op)
            if op.regions:
                found += operations(op)
            op = op.next_op
    return found


def of_kind(kernel: Operation, kind: type[Kind]) -> list[Kind]:
    """What a kernel holds of one type of operation, in the order of `walk`; of its subtypes nothing."""
    return [op for op in operations(kernel) if type(op) is kind]  # quicker than isinstance


def named(kernel: Operation, statement: type[ValuesOp]) -> frozenset[SSAValue]:
    """The values that the statements of one kind name in a kernel."""
    return frozenset(value for op in of_kind(kernel, statement) for value in op.operands)


@irdl_op_definition
class WithinOp(IRDLOperation):
    """Says what range a real number lies in, at every place of its tile: from `low` to `high`, unless it is NaN.

    A softmax's weight is from 0 to 1, because its score had the maximum taken off: only who takes it off knows. This
    does nothing; a pass may rest on it.
    """

    name = "tile.within"
    value = operand_def(AnyFloat)
    low = prop_def(FloatAttr[Float64Type])
    high = prop_def(FloatAttr[Float64Type])
    assembly_format = "$value `from` $low `to` $high attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, low: float, high: float) -> None:
        super().__init__(operands=[value], properties={"low": FloatAttr(low, f64), "high": FloatAttr(high, f64)})

    def verify_(self) -> None:
        if not -inf < self.low.value.data <= self.high.value.data < inf:
            raise VerifyException("goes from a number to one that is no smaller")


@irdl_op_definition
class NarrowOp(ValuesOp):
    """Says which operations compute in the launch's index width: their integers fit the `bounds` of the kernel.

    Where a launch finds those below 2^31 that width is 32 bits, else 64; integers that are not named have 64. A value
    stands for the operation that gives it, a comparison for the integers that it compares. What is named but the same
    for a whole tile is widened afterwards, but for where the tiles of a program begin whose warps have roles. This does
    nothing; an emitter reads it.
    """

    name = "tile.narrow"

    @property
    def integers(self) -> Iterator[SSAValue]:
        """The integers that fit: what the operations give, and what those of `arith` and `spec` take."""
        for value in self.values:
            op = value.owner
            assert isinstance(op, Operation)
            taken = op.operands if op.name.startswith(("arith.", "spec.")) else ()
            yield from (v for v in (value, *taken) if v.type == index and not isinstance(v.owner, arith.ConstantOp))

    @property
    def bounds(self) -> Bound:
        """Those of the kernel; raises VerifyException where it has none."""
        kernel = self.parent_op()
        while kernel is not None and "bounds" not in kernel.properties:
            kernel = kernel.parent_op()
        if kernel is None:
            raise VerifyException("stands in a kernel that has bounds")
        return bounds_of(kernel.properties["bounds"])

    def verify_(self) -> None:
        assert self.bounds is not None
        for value in self.values:
            if not isinstance(value.owner, Operation) or value.owner.parent is not self.parent:
                raise VerifyException("names what operations of its block give")
            if value.type != index and not isinstance(value.owner, arith.CmpiOp):
                raise VerifyException("names integers, and comparisons of integers")


@irdl_op_definition
class KeptOp(ValuesOp):
    """Says which tiles keep the element type that memory holds them in, and are not widened where they are read.

    Each is a tile that was read, what a select leaves of one, with 0 elsewhere, or the floats that its integers are.
    This does nothing; an emitter reads it.
    """

    name = "tile.kept"
    traits = traits_def(WellFormed())


@irdl_op_definition
class DeferredOp(ValuesOp):
    """Says which tiles are read when they are multiplied, and are left where they lie till then.

    Each is a tile of rows that a table places, or lays end to end what is deferred. Nothing but streamed products takes
    one: they are told where rows begin, and need no copy. This does nothing; an emitter reads it.
    """

    name = "tile.deferred"
    traits = traits_def(WellFormed())


@irdl_op_definition
class LaunchedOp(ValuesOp):
    """Says which integers a launch computes, once for all programs, and hands to the kernel.

    They are of dims, parameters and choices alone. This does nothing; an emitter reads it.
    """

    name = "tile.launched"
    traits = traits_def(WellFormed())


@irdl_op_definition
class CoversOp(IRDLOperation):
    """Says what the tiles of a launch cover, from which it chooses their sizes: rows and keys.

    `rows` is the program variable that steps through tiles of rows; without it a program has a single row. `keys` is
    how many keys there are, in tiles `by` so many; where keys are cut into splits, it is how many are cut. Without it
    no launch knows. No loop over tiles of keys goes further. This does nothing; a launcher reads it.
    """

    name = "tile.covers"
    rows = opt_operand_def(IndexType)
    keys = opt_operand_def(IndexType)
    by = opt_operand_def(IndexType)
    traits = traits_def(WellFormed())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "(`rows` $rows^)? (`keys` $keys^ `by` $by)? attr-dict"

    def __init__(self, rows: SSAValue | None, keys: SSAValue | None, by: SSAValue | None) -> None:
        super().__init__(operands=[rows, keys, by])


@irdl_op_definition
class ThreadsOp(IRDLOperation):
    """Says that threads may share the programs of a kernel, and of which calls that is worth it: `where` holds.

    They share the values of one `variable` of the programs; what each walks within one of its own is in order.
    Programs that may add to one element agree in it, and in those before it. The condition is on dims and parameters,
    and stands, as does what it is computed of, before the first program: a launch asks it once.

    With `in steps of` the first variable, programs that differ in it may add to one element as well, in a turn of a
    loop that has one place for each element: a program does so when that of the step before, which agrees with it in
    the other variables, is past that place.

        tile.threads share "h" in steps of "j" where %worth
    """

    name = "tile.threads"
    variable = prop_def(StringAttr)
    steps = opt_prop_def(StringAttr)
    where = operand_def(i1)
    traits = traits_def(WellFormed())
    assembly_format = "`share` $variable (`in` `steps` `of` $steps^)? `where` $where attr-dict"

    def __init__(self, variable: str, where: SSAValue, steps: str | None = None) -> None:
        super().__init__(
            properties={"variable": StringAttr(variable), "steps": None if steps is None else StringAttr(steps)},
            operands=[where],
        )


@irdl_op_definition
class UnsignedOp(ValuesOp):
    """Says which integers are never negative, of those whose sign an emitter looks at; numbers show theirs.

    A quotient is the same rounded down and rounded to 0 where neither operand is negative. This does nothing; an
    emitter reads it.
    """

    name = "tile.unsigned"

    def verify_(self) -> None:
        _verify_integers(self)


@irdl_op_definition
class WrapsOp(ValuesOp):
    """Says which integers, each the same for a whole tile, may leave 64 bits, and wrap.

    What computes without bounds, as Python does, brings them back: a launch those of dims, parameters and choices, a
    program in Python all. This does nothing, as integers wrap here anyway; an emitter reads it.
    """

    name = "tile.wraps"
    traits = traits_def(WellFormed())


def _verify_integers(op: ValuesOp) -> None:
    if any(value.type != index for value in op.values):
        raise VerifyException("names integers")
