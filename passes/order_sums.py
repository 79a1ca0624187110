"""order-sums: where a schedule is to be deterministic, rows that meet in one element become the keys of that element.

Why: of rows that meet, programs of a GPU add to an element in any order, and the last bits of a sum differ from call to
call. What one row folds over its keys has one order: that of tiles, and of splits, whose number rests on extents and
the device.

Before:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @class "input" "i32" ["M"]
    spec.tensor @o "output" "f32" ["C", "D"] partial
    attn.kernel @bags schedule {deterministic = true} {
      %M = spec.dim "M"
      %D = spec.dim "D"
      %i = attn.each "i" to %M
      %d = attn.axis "d" to %D
      %x = attn.read @x[%i, %d] : f32
      %class = attn.read @class[%i] : index
      %c0 = arith.constant 0 : index
      %C = spec.dim "C"
      %low = arith.cmpi sle, %c0, %class : index
      %high = arith.cmpi slt, %class, %C : index
      %in = arith.andi %low, %high : i1
      attn.write @o[%class, %d] = %x adds along (%i) where %in : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "D"]
    spec.tensor @class "input" "i32" ["M"]
    spec.tensor @o "output" "f32" ["C", "D"] partial
    attn.kernel @bags {
      %M = spec.dim "M"
      %D = spec.dim "D"
      %d = attn.axis "d" to %D
      %i = attn.over "i" to %M
      %x = attn.read @x[%i, %d] : f32
      %class = attn.read @class[%i] : index
      %c0 = arith.constant 0 : index
      %C = spec.dim "C"
      %low = arith.cmpi sle, %c0, %class : index
      %high = arith.cmpi slt, %class, %C : index
      %0 = arith.constant 0 : index
      %C_1 = spec.dim "C"
      %D_1 = spec.dim "D"
      %at = attn.each "at" to %C_1
      %1 = arith.cmpi eq, %class, %at : index
      %2 = arith.cmpi sle, %0, %d : index
      %3 = arith.cmpi slt, %d, %D_1 : index
      %4 = arith.andi %low, %high : i1
      %5 = arith.andi %4, %1 : i1
      %6 = arith.andi %2, %3 : i1
      %total = attn.total %x over %i where %5 precise : f32
      attn.write @o[%at, %d] = %total adds along(%at) where %6 : f32
    }

A variable that the places tell by themselves, as `b` of o[b, i / 2], stays a row, and so does a place that is made of
such variables alone. Each other place becomes a row of its own, which takes all its values, and all other variables one
key, whose digits they are: it counts where its place is that of the row. So rows are looked at as often as there are
elements that they might meet in, all of them where data send rows to their places. One that places know by its quotient
alone is two variables before, as exchange-loops has it: the quotient, which they tell, and the remainder.

What takes more than arithmetic to make is made once, by the kernel that was there, and left in a workspace: values that
are contracted or reduced, and what places and conditions hold of reductions over keys. Of several writes that add to
one tensor each is a kernel's only one: kernels run in order.

Requires: simplify-indices. Ensures: of kernels that are to be deterministic, no two rows meet that add to one element.
Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.extent_values import extents_before, guard_reads
from attndsl.ir.keys import Reduction, conjunction, conjuncts, made_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import (
    constant_op,
    index_constant,
    insert_before,
    remove_dead,
    replace,
    sort_block,
)
from attndsl.ir.traits import Axes, Removes
from attndsl.ir.workspaces import Workspace, fresh
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, StringAttr, arith
from attndsl.passes.exchange_loops import grouped, quotient_of, summed_over, variables_in
from attndsl.passes.find_meetings import told_by_places

ROWS = (attn.EachOp, attn.GridOp)


@dataclass(frozen=True)
class OrderSums(ModulePass):
    """Gives each write that adds where rows may meet a kernel whose rows are elements, where a schedule asks for it."""

    name = "order-sums"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp) and kernel.is_deterministic:
                _order(kernel, op)
        remove_dead(op)


def _writes(kernel: attn.KernelOp) -> list[attn.WriteOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp)]


def _order(kernel: attn.KernelOp, module: ModuleOp) -> None:
    """Moves the sums of a kernel whose rows may meet to kernels behind it."""
    last = kernel
    left: dict[SSAValue, Workspace] = {}
    for number, write in enumerate(_writes(kernel)):
        if not _meets(write, kernel):
            continue
        write = _folded(write, kernel)
        step = _alone(write, kernel, list(_leave(write, kernel, module, left)))
        entries = [op.entry.data for op in module.body.block.ops if isinstance(op, attn.KernelOp)]
        step.entry = StringAttr(fresh(f"{kernel.entry.data}_{write.tensor.string_value()}_{number}", entries))
        module.body.block.insert_op_after(step, last)
        last = step
        kernel.body.block.erase_op(write)
        _sum_elements(step)
    for workspace in left.values():
        kernel.body.block.add_op(workspace.write(workspace.value))
    if not _writes(kernel):
        last.entry = kernel.entry  # it takes the kernel's place
        module.body.block.erase_op(kernel)


# --- what becomes a kernel of its own


def _meets(write: attn.WriteOp, kernel: attn.KernelOp) -> bool:
    """Whether rows may meet in an element that a write adds to, of this one or of another one of the kernel."""
    if write.adds is None:
        return False
    if any(op is not write and op.adds is not None and op.tensor == write.tensor for op in _writes(kernel)):
        return True
    return not told_by_places(write, kernel).issuperset(write.along)


def _folded(write: attn.WriteOp, kernel: attn.KernelOp) -> attn.WriteOp:
    """The write, with 0 for what a condition leaves out that is about all of a feature which becomes a key."""
    told, axes = told_by_places(write, kernel), AxesAnalysis()
    bound = {op.over for op in made_of(conjuncts(write.where)) if isinstance(op, attn.ReduceAxisOp)} - told
    if write.where is None or not any(bound & axes(place) for place in write.indices):
        return write
    nothing = insert_before(write, constant_op(0.0, write.value.type))
    value = insert_before(write, arith.SelectOp(write.where, write.value, nothing))
    folded = attn.WriteOp(write.tensor.string_value(), write.indices, value, None, list(write.along))
    folded.location = write.location
    kernel.body.block.insert_op_before(folded, write)
    replace(write, [])
    return folded


def _leave(
    write: attn.WriteOp, kernel: attn.KernelOp, module: ModuleOp, left: dict[SSAValue, Workspace]
) -> Iterator[Workspace]:
    """Where a kernel leaves what is not to be made again: the value, and what places hold of keys."""
    reductions = [op for op in made_of([*write.indices, *conjuncts(write.where)]) if isinstance(op, Reduction)]
    found: list[SSAValue] = [result for op in reductions for result in op.results if result.first_use is not None]
    if any(op.has_trait(Removes) for op in made_of([write.value])):
        write.value.name_hint = write.value.name_hint or "added"
        found.append(write.value)
    for value in found:
        if value not in left:
            workspace = Workspace.of(value, kernel, module, AxesAnalysis())
            assert workspace is not None, "a launch knows how many rows there are at most"
            left[value] = workspace
        yield left[value]


def _alone(write: attn.WriteOp, kernel: attn.KernelOp, workspaces: Iterable[Workspace]) -> attn.KernelOp:
    """A copy of a kernel that writes nothing else, and reads what has been left."""
    copied: dict[SSAValue, SSAValue] = {}
    step = kernel.clone(copied)
    step.schedule = None  # what a spec pins is for the tiles of the kernel that was there
    for old, new in zip(kernel.body.block.ops, step.body.block.ops, strict=True):
        new.location = old.location
    copy = _writes(step)[_writes(kernel).index(write)]
    for workspace in workspaces:
        read = insert_before(copy, workspace.read(copied), workspace.value.name_hint)
        copied[workspace.value].replace_all_uses_with(read)
    for other in _writes(step):
        if other is not copy:
            step.body.block.erase_op(other)
    sort_block(step.body.block)
    remove_dead(step)
    return step


# --- rows that are elements


def _sum_elements(kernel: attn.KernelOp) -> None:
    """Lets the elements that the only write of a kernel adds to be its rows."""
    (write,) = _writes(kernel)
    _split_quotients(write, kernel)
    axes, told = AxesAnalysis(), told_by_places(write, kernel)
    stay = [axes(place) <= told for place in write.indices]
    rows = [op for op in kernel.body.block.ops if isinstance(op, ROWS) and op.result in told]
    over, variables, conditions = _exchange(write, kernel, told)
    conditions += conjuncts(write.where)
    indices = list[SSAValue](write.indices)
    along = [variables.get(op, op.result) for op in rows]
    taken = variables_in(kernel.body.block)
    zero = insert_before(write, index_constant(0))
    extents = extents_before(write, spec.enclosing_tensor(write, write.tensor.string_value()))
    for n, (place, extent) in enumerate(zip(write.indices, extents, strict=True)):
        if stay[n]:
            conditions.append(insert_before(write, arith.CmpiOp(zero, place, "sle")))
            conditions.append(insert_before(write, arith.CmpiOp(place, extent, "slt")))
            continue
        name = fresh("at", taken)
        taken.add(name)
        indices[n] = insert_before(write, attn.EachOp(name, extent), name)
        conditions.append(insert_before(write, arith.CmpiOp(place, indices[n], "eq")))
        along.append(indices[n])
    if over is None:
        value, where = write.value, conjunction(conditions, write)
    else:
        value, where = summed_over(over, write.value, conditions, write)
    summed = attn.WriteOp(write.tensor.string_value(), indices, value, where, along)
    summed.location = write.location
    kernel.body.block.insert_op_before(summed, write)
    replace(write, [])
    sort_block(kernel.body.block)


def _split_quotients(write: attn.WriteOp, kernel: attn.KernelOp) -> None:
    """Lets a variable that places know by a quotient alone be that and the remainder, each a variable."""
    axes, facts = AxesAnalysis(), Facts(kernel.body.block)
    found = {op: quotient_of(op, write, axes, facts) for op in kernel.body.block.ops if isinstance(op, attn.EachOp)}
    for row, quotient in found.items():
        if quotient is not None:
            group, first, size = grouped(row, quotient, write)
            rest = insert_before(write, attn.EachOp(row.variable.data, size, quotient.rhs))
            replace(quotient, [group])
            replace(row, [insert_before(write, arith.AddiOp(first, rest), row.variable.data)])
    sort_block(kernel.body.block)


def _far(told: Axes, kernel: attn.KernelOp) -> list[attn.IndexOp]:
    """The rows of which there are more or fewer along what becomes keys: they go as far as they may."""
    axes, far = AxesAnalysis(), list[attn.IndexOp]()
    for op in kernel.body.block.ops:
        if isinstance(op, ROWS) and op.result in told and not axes(op.extent) <= told - {row.result for row in far}:
            far.append(op)
    return far


def _exchange(
    write: attn.WriteOp, kernel: attn.KernelOp, told: Axes
) -> tuple[SSAValue | None, dict[attn.IndexOp, SSAValue], list[SSAValue]]:
    """Lets what is not told be digits of a key; gives that, what has become of variables, and which rows there are."""
    axes, far = AxesAnalysis(), _far(told, kernel)
    placed = frozenset[SSAValue]().union(*map(axes, write.indices))
    rest = [op for op in kernel.body.block.ops if isinstance(op, attn.IndexOp) and op.result not in told]
    keys = [op for op in rest if isinstance(op, ROWS) or (isinstance(op, attn.AxisOp) and op.result in placed)]
    values = {op: insert_before(write, type(op)(op.variable.data, _limit(op))) for op in far}
    over: SSAValue | None = None
    if len(keys) == 1 and axes(keys[0].extent) <= told - {op.result for op in far}:
        (key,) = keys
        over = insert_before(write, attn.OverOp(key.variable.data, key.extent, key.bound), key.variable.data)
        values[key] = over
    elif keys:
        name = fresh("_".join(op.variable.data for op in keys), variables_in(kernel.body.block))
        over, digits = _flat(name, list(map(_limit, keys)), write)
        values.update(zip(keys, digits, strict=True))
        far += [op for op in keys if op.bound is not None]
    there = [insert_before(write, arith.CmpiOp(values[op], op.extent, "slt")) for op in far]
    farther = [values[op] for op in far]
    for op, value in values.items():
        replace(op, [value])
    guard_reads(kernel.body.block, farther, kernel)
    return over, values, there


def _limit(variable: attn.IndexOp) -> SSAValue:
    """What a variable stays below for all rows: where its range differs from row to row it has a bound."""
    return variable.extent if variable.bound is None else variable.bound


def _flat(name: str, extents: Sequence[SSAValue], anchor: Operation) -> tuple[SSAValue, list[SSAValue]]:
    """A key variable whose digits several variables are, the last varying fastest, and these."""
    zero = insert_before(anchor, index_constant(0))
    # Two negative extents must not make a positive number of keys.
    counts = [insert_before(anchor, arith.MaxSIOp(extent, zero)) for extent in extents]
    strides = [insert_before(anchor, index_constant(1))]
    for count in reversed(counts):
        strides.append(insert_before(anchor, arith.MuliOp(strides[-1], count)))
    over = insert_before(anchor, attn.OverOp(name, strides.pop()), name)
    digits = [insert_before(anchor, arith.FloorDivSIOp(over, stride)) for stride in reversed(strides)]
    return over, [insert_before(anchor, spec.ModOp(*pair)) for pair in zip(digits, counts, strict=True)]
