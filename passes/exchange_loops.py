"""exchange-loops: of rows that meet in one element, one variable becomes the keys of the row that it is.

Why: a sum of rows whose places do not tell them apart is a reduction. Where what is added holds a contraction, one
factor of which knows nothing of the variable, rows and keys make a product of matrices, as those of scores do; no two
programs add to one element for its sake, and its range is cut as that of keys is. So do rows and keys change places in
what each key is given by all rows.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["N"] partial
    attn.kernel @mass {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i = attn.each "i" to %M
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%i, %d] : f32
      %k = attn.read @k[%j, %d] : f32
      %qk = arith.mulf %q, %k : f32
      %s = attn.sum %qk over %d : f32
      attn.write @o[%j] = %s adds along (%i, %j) : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["N"] partial
    attn.kernel @mass {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %i = attn.over "i" to %M
      %q = attn.read @q[%i, %d] : f32
      %k = attn.read @k[%j, %d] : f32
      %qk = arith.mulf %q, %k : f32
      %s = attn.sum %qk over %d : f32
      %t = attn.total %s over %i precise : f32
      attn.write @o[%j] = %t adds along (%j) : f32
    }

Of several such variables it is the last. One that places know by its quotient alone, as `h / 2` tells groups of heads,
is two: the quotient, a row, and the remainder, a key. What is 0 where a condition fails is of no key there, whose range
may then be cut. A kernel that writes several things becomes one for each that is exchanged, and one for the rest. What
has keys of its own stays as it is, and so do rows that data send to their places, and variables that the extents of
others rest on.

Requires: canonicalize and cse. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts, factors_of, made_of, over_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant, constant_op, index_constant, insert_before, remove_dead, replace, sort_block
from attndsl.ir.workspaces import fresh
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, Operation, SSAValue, StringAttr, arith


@dataclass(frozen=True)
class ExchangeLoops(ModulePass):
    """Makes reductions of sums whose places do not tell their rows apart, where that makes products of matrices."""

    name = "exchange-loops"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if not isinstance(kernel, attn.KernelOp) or over_of(kernel) is not None:
                continue
            for write in [each for each in kernel.body.block.ops if isinstance(each, attn.WriteOp)]:
                if write.adds is not None and (meeting := _meeting(write, kernel)) is not None:
                    _exchange(*_alone(write, meeting, kernel, op))
                    remove_dead(op)


@dataclass(frozen=True)
class _Meeting:
    """A variable of rows that meet: all of them, or, where there is a quotient, those that agree in it."""

    variable: attn.EachOp
    quotient: arith.FloorDivSIOp | None


def _meeting(write: attn.WriteOp, kernel: attn.KernelOp) -> _Meeting | None:
    """The variable to exchange, None where there is none."""
    sums = [op for op in made_of([write.value]) if isinstance(op, attn.SumOp)]
    if not sums:
        return None
    axes, facts = AxesAnalysis(), Facts(kernel.body.block)
    rows = [op for op in kernel.body.block.ops if isinstance(op, attn.EachOp)]
    ends = (end for op in rows for end in (op.extent, op.bound) if end is not None)
    shaping = frozenset[SSAValue]().union(*map(axes, ends))
    for row in reversed(rows):
        if row.result in shaping or row.result not in write.along:
            continue
        met = not any(row.result in axes(place) for place in write.indices)
        quotient = None if met else quotient_of(row, write, axes, facts)
        if (met or quotient is not None) and _makes_matrices(_Meeting(row, quotient), sums, axes):
            return _Meeting(row, quotient)
    return None


def quotient_of(row: attn.EachOp, write: attn.WriteOp, axes: AxesAnalysis, facts: Facts) -> arith.FloorDivSIOp | None:
    """The quotient of a variable by which alone the places of a write know it."""
    if row.bound is not None or axes(row.extent):
        return None
    for op in made_of(write.indices):
        if isinstance(op, arith.FloorDivSIOp) and op.lhs is row.result and not axes(op.rhs) and facts.positive(op.rhs):
            return op if row not in made_of(write.indices, {op}) else None
    return None


def _makes_matrices(meeting: _Meeting, sums: Iterable[attn.SumOp], axes: AxesAnalysis) -> bool:
    """Whether a factor of each contraction knows nothing of the variable but its quotient."""
    known = set() if meeting.quotient is None else {meeting.quotient}
    for op in sums:
        factors = [factor for factor in factors_of(op.body) if op.over in axes(factor)]
        if all(meeting.variable in made_of([factor], known) for factor in factors):
            return False
    return True


def _alone(
    write: attn.WriteOp, meeting: _Meeting, kernel: attn.KernelOp, module: ModuleOp
) -> tuple[attn.WriteOp, _Meeting]:
    """The write as the only one of a kernel, this one or one before it."""
    writes = [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp)]
    if len(writes) == 1:
        return write, meeting
    step = kernel.clone()
    step.entry = StringAttr(f"{kernel.entry.data}_{write.tensor.string_value()}_{writes.index(write)}")
    copies = dict(zip(kernel.body.block.ops, step.body.block.ops, strict=True))
    for old, new in copies.items():
        new.location = old.location
    for other in writes:
        if other is write:
            kernel.body.block.erase_op(other)
        else:
            step.body.block.erase_op(copies[other])
    module.body.block.insert_op_before(step, kernel)
    copy, variable = copies[write], copies[meeting.variable]
    quotient = None if meeting.quotient is None else copies[meeting.quotient]
    assert isinstance(copy, attn.WriteOp) and isinstance(variable, attn.EachOp)
    assert isinstance(quotient, arith.FloorDivSIOp | None)
    return copy, _Meeting(variable, quotient)


def _exchange(write: attn.WriteOp, meeting: _Meeting) -> None:
    """Lets the variable be the keys of a sum, whose value is written."""
    block, row, quotient = write.parent, meeting.variable, meeting.quotient
    assert block is not None
    name = row.variable.data
    along = [variable for variable in write.along if variable is not row.result]
    if quotient is None:
        over = value = insert_before(write, attn.OverOp(name, row.extent, row.bound), name)
    else:
        group, first, size = grouped(row, quotient, write)
        over = insert_before(write, attn.OverOp(name, size, quotient.rhs), name)
        value = insert_before(write, arith.AddiOp(first, over), name)
        along.append(group)
        replace(quotient, [group])
    replace(row, [value])
    total, where = summed_over(over, write.value, conjuncts(write.where), write)
    written = attn.WriteOp(write.tensor.string_value(), write.indices, total, where, along)
    written.location = write.location
    block.insert_op_before(written, write)
    replace(write, [])
    sort_block(block)


def grouped(row: attn.EachOp, quotient: arith.FloorDivSIOp, anchor: Operation) -> tuple[SSAValue, SSAValue, SSAValue]:
    """A variable of the groups that agree in a quotient, where one begins, and how many it has, before `anchor`."""
    assert anchor.parent is not None
    name, size = fresh(f"{row.variable.data}_group", variables_in(anchor.parent)), quotient.rhs
    group = insert_before(anchor, attn.EachOp(name, _rounded_up(anchor, row.extent, size)), name)
    first = insert_before(anchor, arith.MuliOp(group, size))
    left = insert_before(anchor, arith.SubiOp(row.extent, first))  # the last group may be smaller
    return group, first, insert_before(anchor, arith.MinSIOp(size, left))


def variables_in(block: Block) -> set[str]:
    """The names of index variables."""
    return {op.variable.data for op in block.ops if isinstance(op, attn.IndexOp)}


def summed_over(
    over: SSAValue, added: SSAValue, conditions: Sequence[SSAValue], anchor: Operation
) -> tuple[SSAValue, SSAValue | None]:
    """The sum of what each key adds where conditions hold, before `anchor`; and those of them that are of no key."""
    axes, holding = AxesAnalysis(), [*conditions]
    while isinstance(added.owner, arith.SelectOp) and constant(added.owner.rhs) == 0:  # what adds 0 is no key
        holding += conjuncts(added.owner.cond)
        added = added.owner.lhs
    holding = [each for condition in holding for each in _apart(condition, anchor)]
    of_keys = [condition for condition in holding if over in axes(condition)]
    of_elements = [each for each in of_keys if any(isinstance(v.owner, attn.AxisOp) for v in axes(each))]
    counted = conjunction([each for each in of_keys if each not in of_elements], anchor)
    where = conjunction([each for each in holding if each not in of_keys], anchor)
    if (some := conjunction(of_elements, anchor)) is not None:  # a key that some elements have, and others do not
        nothing = insert_before(anchor, constant_op(0.0, added.type))
        added = insert_before(anchor, arith.SelectOp(some, added, nothing))
    return insert_before(anchor, attn.TotalOp(added, over, counted, precise=True), "total"), where


def _apart(condition: SSAValue, anchor: Operation) -> list[SSAValue]:
    """Conditions that hold together where one does: what holds along a whole axis, each part of it by itself."""
    op = condition.owner
    if not isinstance(op, attn.AllOp):
        return [condition]
    parts = [part for each in conjuncts(op.body) for part in _apart(each, anchor)]
    return [insert_before(anchor, attn.AllOp(part, op.over)) for part in parts]


def _rounded_up(anchor: Operation, extent: SSAValue, divisor: SSAValue) -> SSAValue:
    """How many times a divisor goes into an extent, what is left over counted as one."""
    one = insert_before(anchor, index_constant(1))
    less = insert_before(anchor, arith.SubiOp(divisor, one))
    return insert_before(anchor, arith.FloorDivSIOp(insert_before(anchor, arith.AddiOp(extent, less)), divisor))
