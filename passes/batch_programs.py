"""batch-programs: several values of a program's variable, as heads, become a batch axis where tiles have room.

Why: a program of a short sentence is some thirty operations on tiles of a few hundred numbers, and starting them takes
longer than the numbers do. Between operations one thread of Python alone can run, so that with full tiles, too, threads
wait for each other: on two cores for a third of the time. With heads for a batch axis the same operations compute
several programs at once. How many is chosen at the call: as many as hold no more than `numbers` in a tile, or `least`
where keys are not copied, and, where programs would be fewer than `fewest`, no more than a quarter of that. Of heads
that lie side by side behind each key scores alone count, where their keys are read where they lie (`choose-keys`), as
rows that a table places are for up to `streamed` rows. So do a projection's results, of as few rows, not its weights.

Before:

    spec.tensor @q "input" "f32" ["H", "M", "D"]
    spec.tensor @k "input" "f32" ["H", "N", "D"]
    spec.tensor @o "output" "f32" ["H", "M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 128 : index
      %H = spec.dim "H"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %h = tile.program "h" to %H step %one
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %D size %D
      %q = tile.load @q[%h, %i, %d] : f32
      %start = tile.broadcast %none over (%i) : f32 to f32
      %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %k = tile.load @k[%h, %j, %d] : f32
        %score = tile.dot %q, %k over %d : f32
        %part = tile.sum %score over %j : f32 to f32
        %next = arith.addf %a, %part : f32
        tile.yield %next : f32
      }
      tile.store @o[%h, %i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["H", "M", "D"]
    spec.tensor @k "input" "f32" ["H", "N", "D"]
    spec.tensor @o "output" "f32" ["H", "M"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.000000e+00 : f32
      %size = arith.constant 128 : index
      %H = spec.dim "H"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %j_size = arith.minsi %N, %size : index
      %i_size = arith.minsi %M, %size : index
      %0 = arith.maxsi %i_size, %D : index
      %1 = arith.muli %j_size, %0 : index
      %2 = arith.constant 1 : index
      %numbers = arith.maxsi %1, %2 : index
      %3 = arith.constant 262144 : index
      %4 = arith.floordivsi %3, %numbers : index
      %5 = arith.constant 65536 : index
      %6 = arith.floordivsi %5, %numbers : index
      %7 = arith.constant 1 : index
      %8 = arith.subi %size, %7 : index
      %9 = arith.addi %M, %8 : index
      %10 = arith.floordivsi %9, %size : index
      %programs = arith.muli %H, %10 : index
      %11 = arith.constant 4 : index
      %12 = arith.floordivsi %programs, %11 : index
      %13 = arith.constant 1 : index
      %14 = arith.maxsi %6, %13 : index
      %15 = arith.minsi %4, %12 : index
      %h_step = arith.maxsi %15, %14 : index
      %h0 = tile.program "h" to %H step %h_step
      %h = tile.range "h" from %h0 to %H size %h_step
      %i0 = tile.program "i" to %M step %size
      %i = tile.range "i" from %i0 to %M size %size
      %d = tile.range "d" from %zero to %D size %D
      %q = tile.load @q[%h, %i, %d] : f32
      %start = tile.broadcast %none over(%h, %i) : f32 to f32
      %sum = tile.loop %j0 = %zero to %N step %size iter_args(%a = %start) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %size
        %k = tile.load @k[%h, %j, %d] : f32
        %score = tile.dot %q, %k over %d : f32
        %part = tile.sum %score over %j : f32 to f32
        %next = arith.addf %a, %part : f32
        tile.yield %next : f32
      }
      tile.store @o[%h, %i] = %sum : f32
    }

A product that stands in no loop, as a projection, counts what it sums over in the place of keys.

Variables are taken from the innermost one on: each is a batch axis of the products that rest on it, one operand of
which may be the same for all. Nothing may rest on it that is one number for a tile, nor under what condition something
is read; and it is an index by itself wherever a loop reads something, so that what is read is still a slice. Where a
first look at what masks read has narrowed a loop for each of its values (`scan-keys`), the loop runs from the first of
these keys to the last.

Requires: tile, scan-keys. Exactness: reassociates sums, where keys begin elsewhere. Idempotent.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import reduce

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import row_axis
from attndsl.ir.analyses.beside import programs_beside
from attndsl.ir.analyses.copies import copies_keys, copies_placed_rows
from attndsl.ir.analyses.facts import launch_time
from attndsl.ir.analyses.lengths import Lengths
from attndsl.ir.analyses.shared import programs_of, whole_times
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant, index_constant, insert_before, replace, sort_block
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith, scf

ANY_ROWS = 1 << 31
"""More rows than a tile has."""


@dataclass(frozen=True)
class BatchPrograms(ModulePass):
    """Makes batch axes of programs' variables in each kernel that has such."""

    name = "batch-programs"
    exactness = Exactness.REASSOCIATES
    numbers: int = 1 << 18
    fewest: int = 4
    least: int = 1
    streamed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp) and _multiplies_matrices(kernel, known := launch_time(kernel)):
                _batch_programs(kernel, known, self)


def _batch_programs(kernel: tile.KernelOp, known: Container[SSAValue], room: BatchPrograms) -> None:
    """Makes batch axes of the variables that can be, the innermost first, as long as tiles have room for them."""
    programs = [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)]
    if not programs:
        return
    begin = programs[0]
    made: list[SSAValue] = []
    left: tuple[SSAValue, SSAValue] | None = None
    for program in reversed(programs):
        if constant(program.step) != 1 or program.bound is not None or program.extent not in known:
            continue
        resting = _resting(program, kernel)
        if _is_batch(program, kernel, resting, made):
            if left is None:
                step = _together(kernel, begin, room)
            else:  # as many as are left for one that has all of the variable before
                step = insert_before(begin, arith.MaxSIOp(whole_times(begin, *left), _number(begin, 1)))
            step.name_hint = f"{program.result.name_hint}_step"
            left = step, program.extent
            made.append(_batch(program, kernel, resting, step))
    if made:
        sort_block(kernel.body.block)


def _multiplies_matrices(kernel: tile.KernelOp, known: Container[SSAValue]) -> bool:
    """Whether a kernel has products, all of matrices, and sizes of tiles that are known before."""
    axes = AxesAnalysis()
    for op in operations(kernel):
        match op:
            case tile.DotOp():
                batch, left, right = op.sides(axes)
                where = axes(op.where) if op.where is not None else frozenset()
                if batch or len(left) != 1 or len(right) != 1 or not where <= {*left, op.over}:
                    return False
            case tile.RangeOp() if op.size not in known:
                return False
            case scf.IfOp():
                return False
    columns = [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp) and op.columns is not None]
    return bool(columns) or any(isinstance(op, tile.DotOp) or _multiplies(op) for op in kernel.body.block.ops)


def _is_batch(program: tile.ProgramOp, kernel: tile.KernelOp, resting: set[SSAValue], made: list[SSAValue]) -> bool:
    """Whether a variable can be an axis, and a batch axis, as those `made` are, of each product that rests on it."""
    axes, products = AxesAnalysis(), 0
    for op in operations(kernel):
        if resting.isdisjoint(op.operands):
            continue
        match op:
            case tile.DotOp():
                products += 1
            case tile.LoopOp():
                ends = [end for end in (op.lb, op.ub) if end in resting]
                if not resting.isdisjoint((op.step, op.row_start, op.row_stop)) or not all(map(_is_found, ends)):
                    return False
            case tile.LoadOp():
                computed = any(v in resting and v is not program.result for v in op.indices)
                if op.where in resting or (computed and op.parent_op() is not kernel):
                    return False
            case tile.StoreOp():
                if op.value not in resting or program.result in op.along:
                    return False
            case tile.RangeOp() if not _ends_with_loop(op):
                return False
            case tile.ProgramOp() | tile.HoldsOp() | tile.RepeatOp():
                return False
    return products > 0 and all(len(axes(value).difference(made)) <= 2 for value in resting)


def _is_found(end: SSAValue) -> bool:
    """Whether a look through data has found where keys begin or end: those beyond it count for nothing."""
    owner = end.owner
    if isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
        return any(map(_is_found, owner.operands))
    return isinstance(owner, tile.LoopOp)


def _ends_with_loop(axis: tile.RangeOp) -> bool:
    """Whether an axis rests on nothing but where the loop around it begins and ends."""
    loop = axis.parent_op()
    return isinstance(loop, tile.LoopOp) and axis.start is loop.body.block.args[0] and axis.stop is loop.ub


def _resting(program: tile.ProgramOp, kernel: tile.KernelOp) -> set[SSAValue]:
    """The values that differ from one value of a program's variable to the next; which keys a turn has does not."""
    found: set[SSAValue] = {program.result}
    before, ops = 0, operations(kernel)
    while len(found) > before:  # what loops carry may come to rest on it in a later turn
        before = len(found)
        for op in ops:
            if isinstance(op, tile.LoopOp):
                for carried in zip(op.iter_args, op.body.block.args[1:], op.end.values, op.results, strict=True):
                    if found.intersection(carried):
                        found.update((carried[1], carried[3]))
            elif found.intersection(op.operands) and not (isinstance(op, tile.RangeOp) and _ends_with_loop(op)):
                found.update(op.results)
    return found


def _multiplies(op: Operation) -> bool:
    """Whether an operation is a loop over tiles of keys that makes products."""
    return isinstance(op, tile.LoopOp) and op.axis is not None and of_kind(op, tile.DotOp) != []


def _batch(program: tile.ProgramOp, kernel: tile.KernelOp, resting: set[SSAValue], step: SSAValue) -> SSAValue:
    """Lets an axis stand for a program's variable, and gives the axis."""
    name, variable = program.result.name_hint, program.variable.data
    start = insert_before(program, tile.ProgramOp(variable, program.extent, None, step), f"{name}0")
    axis = insert_before(program, tile.RangeOp(variable, start, program.extent, step), name)
    replace(program, [axis])
    for loop in [each for each in operations(kernel) if isinstance(each, tile.LoopOp)]:
        for position, (first, result) in enumerate(zip(loop.iter_args, loop.results, strict=True), 3):
            if result in resting and first not in resting:
                loop.operands[position] = insert_before(loop, _broadcast(first, axis), first.name_hint)
                if isinstance(first.owner, tile.BroadcastOp) and not first.uses and first.owner.parent is not None:
                    first.owner.parent.erase_op(first.owner)
        keys = loop.axis
        for position, extreme in enumerate((tile.MinOp, tile.MaxOp)):
            if (end := loop.operands[position]) in resting:
                common = insert_before(loop, extreme(end, axis), "stop" if position else "start")
                loop.operands[position] = common
                if keys is not None and keys.stop is end:
                    keys.operands[1] = common
    return axis


def _broadcast(value: SSAValue, axis: SSAValue) -> tile.BroadcastOp:
    """A value along one axis more."""
    if isinstance(value.owner, tile.BroadcastOp):
        return tile.BroadcastOp(value.owner.value, [axis, *value.owner.axes])
    return tile.BroadcastOp(value, [axis])


def _largest_tile(kernel: tile.KernelOp, begin: Operation, *, of_rows: int = 0) -> SSAValue:
    """How many numbers a tile has at most, before `begin`: its keys or columns times a product's longest other axis.

    Without keys, as in a projection, what products sum over stands for them. Of up to `of_rows` rows scores alone
    count.
    """
    axes, lengths = AxesAnalysis(), Lengths(begin)
    ops = operations(kernel)
    used = {axis for op in ops if isinstance(op, tile.DotOp) for axis in axes(op.lhs) | axes(op.rhs)}
    walked = [op for op in ops if isinstance(op, tile.RangeOp) and op.result in used]

    def longest(found: Iterable[tile.RangeOp]) -> SSAValue:
        each = dict.fromkeys(lengths.of(axis.result) for axis in found)
        values = [insert_before(begin, index_constant(v)) if isinstance(v, int) else v for v in each]
        return reduce(lambda a, b: insert_before(begin, arith.MaxSIOp(a, b)), values)

    keys = [op for op in walked if tile.is_key(op.result) or tile.is_column(op.result)]
    if not keys:
        keys = [op for op in walked if any(isinstance(dot, tile.DotOp) and dot.over is op.result for dot in ops)]
    others = [op for op in walked if op not in keys] or keys
    rows = [op for op in others if op.result is row_axis(kernel)]
    if not (of_rows and rows):
        return insert_before(begin, arith.MuliOp(longest(keys), longest(others)))
    few = longest(rows)
    if of_rows < ANY_ROWS:
        often = insert_before(begin, arith.FloorDivSIOp(few, _number(begin, of_rows + 1)))
        often = insert_before(begin, arith.MinSIOp(often, _number(begin, 1)))
        few = insert_before(begin, arith.MaxSIOp(few, insert_before(begin, arith.MuliOp(longest(others), often))))
    return insert_before(begin, arith.MuliOp(longest(keys), few))


def _together(kernel: tile.KernelOp, begin: Operation, room: BatchPrograms) -> SSAValue:
    """How many programs are computed together, at least 1."""
    copied = copies_keys(kernel)
    each = held = insert_before(begin, arith.MaxSIOp(_largest_tile(kernel, begin), _number(begin, 1)), "numbers")
    placed = room.streamed > 0 and copies_placed_rows(kernel)
    projects = room.streamed > 0 and not copied and not of_kind(kernel, tile.LoopOp)
    if projects or ((placed or not copied) and programs_beside(kernel)):
        scores = _largest_tile(kernel, begin, of_rows=room.streamed if projects or placed else ANY_ROWS)
        held = insert_before(begin, arith.MaxSIOp(scores, _number(begin, 1)), "scores")
    most, few = (
        insert_before(begin, arith.FloorDivSIOp(_number(begin, numbers), tiles))
        for numbers, tiles in ((room.numbers, held), (room.numbers // 4, each))
    )
    programs = programs_of(kernel, begin)
    share = insert_before(begin, arith.FloorDivSIOp(programs, _number(begin, room.fewest)))
    if room.least > 1 and not copied:
        pair = insert_before(begin, arith.MinSIOp(share, _number(begin, room.least)))
        few = insert_before(begin, arith.MaxSIOp(few, pair))
    least = insert_before(begin, arith.MaxSIOp(few, _number(begin, 1)))
    return insert_before(begin, arith.MaxSIOp(insert_before(begin, arith.MinSIOp(most, share)), least))


def _number(begin: Operation, value: int) -> SSAValue:
    return insert_before(begin, index_constant(value))
