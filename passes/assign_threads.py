"""assign-threads: says of which calls several threads may share the programs of a kernel, and by which variable.

Why: programs are independent, but Python runs one thread at a time. Two gain on one only while each is in a call of
NumPy, and every such call hands the interpreter over and takes it back. Where calls are short, as with few queries, few
keys or small heads, two threads are slower than one, however many programs there are. So what counts is the largest
step of a program, and then all such steps of a call: to begin and to end in several threads takes a time of its own.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @k "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @sums {
      %M = spec.dim "M"
      %rows = arith.constant 128 : index
      %i_size = arith.minsi %M, %rows : index
      %D = spec.dim "D"
      %N = spec.dim "N"
      %keys = arith.constant 512 : index
      %j_size = arith.minsi %N, %keys : index
      %0 = arith.constant 3 : index
      %1 = arith.muli %i_size, %0 : index
      %2 = arith.constant 24 : index
      %3 = arith.minsi %1, %2 : index
      %4 = arith.maxsi %i_size, %3 : index
      %5 = arith.muli %4, %D : index
      %step = arith.muli %5, %j_size : index
      %6 = arith.constant 786432 : index
      %7 = arith.cmpi sge, %step, %6 : index
      %8 = arith.constant 3 : index
      %9 = arith.muli %M, %8 : index
      %10 = arith.constant 24 : index
      %11 = arith.minsi %9, %10 : index
      %12 = arith.maxsi %M, %11 : index
      %13 = arith.muli %12, %D : index
      %call = arith.muli %13, %N : index
      %14 = arith.constant 25165824 : index
      %15 = arith.cmpi sge, %call, %14 : index
      %worth = arith.andi %7, %15 : i1
      tile.threads share "i" where %worth
      %c0 = arith.constant 0 : index
      %rows_1 = arith.constant 128 : index
      %keys_1 = arith.constant 512 : index
      %zero = arith.constant 0.000000e+00 : f32
      %M_1 = spec.dim "M"
      %N_1 = spec.dim "N"
      %D_1 = spec.dim "D"
      %i0 = tile.program "i" to %M_1 step %rows_1
      %i = tile.range "i" from %i0 to %M_1 size %rows_1
      %d = tile.range "d" from %c0 to %D_1 size %D_1
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over(%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N_1 step %keys_1 iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N_1 size %keys_1
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        %t = tile.sum %s over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

A step is an operation on tiles, as large as all axes of its operands together: for a matrix product its
multiplications. Those of few rows take longer each: it is reading the keys that takes the time, and one row's worth of
it is less. What is known of an axis before a call reads data counts: its size, how many rows or keys there are at
most, or the extent of a tensor that keys are places of. `least` is the size of a step, and `least_call` that of all
steps of a call together, from which on two threads were faster than one where that was measured.

Programs that may add to one element run one after another, in one thread: their order is that of the sum. So threads
share a variable that no two of them differ in, and those that do are stepped through within it. Where they add in a
loop over keys, to elements that are a key's own, they are stepped through outside of it: a program waits only until
that of the step before is past a key.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import row_axis
from attndsl.ir.analyses.facts import is_launch_time
from attndsl.ir.analyses.lengths import Lengths
from attndsl.ir.analyses.meeting import apart, in_steps
from attndsl.ir.analyses.steps import largest_steps
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import made_of
from attndsl.ir.rewrite import constant, index_constant, insert_before
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class AssignThreads(ModulePass):
    """Lets each kernel say of which calls threads may share its programs."""

    name = "assign-threads"
    exactness = Exactness.EXACT

    least: int = 3 << 18
    least_call: int = 3 << 23

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                _assign(kernel, self)


def _assign(kernel: tile.KernelOp, enough: AssignThreads) -> None:
    kinds = {type(op) for op in kernel.body.block.ops}
    if tile.ProgramOp not in kinds or tile.ThreadsOp in kinds:
        return
    shared = [program for program in apart(kernel) if program.columns is None] or apart(kernel)
    if not shared:
        return
    steps = _stepped(kernel)
    if steps is None and not _met_within(kernel, shared[-1]):
        return
    begin = kernel.body.block.first_op
    assert begin is not None
    lengths = Lengths(begin)
    rows = row_axis(kernel)
    sizes = {
        (
            tuple((axis.result is rows, lengths.of(axis.result)) for axis in step),
            tuple((axis.result is rows, lengths.whole(axis.result)) for axis in step),
            tuple((False, lengths.values(program)) for program in _walked_by_ones(kernel, step)),
        ): None
        for step in largest_steps(kernel)
    }
    worth: SSAValue | None = None
    for step, whole, times in sizes:
        large = _is_large(lengths, step, enough.least, "step")
        large_call = _is_large(lengths, (*whole, *times), enough.least_call, "call")
        both = insert_before(begin, arith.AndIOp(large, large_call), "worth")
        worth = both if worth is None else insert_before(begin, arith.OrIOp(worth, both), "worth")
    assert worth is not None, "a kernel has one step at least"
    said = tile.ThreadsOp(shared[-1].variable.data, worth, steps.variable.data if steps is not None else None)
    said.location = next(op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)).location
    kernel.body.block.insert_op_before(said, begin)


def _stepped(kernel: tile.KernelOp) -> tile.ProgramOp | None:
    """Has programs that meet in places of a loop step outside of all others; their variable, None where none can."""
    program = in_steps(kernel)
    first = next(op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp))
    if program is None or not all(is_launch_time(value) for value in program.operands):
        return None
    ops = list(kernel.body.block.ops)
    needed = made_of(program.operands, [program])
    for op in ops[ops.index(first) : ops.index(program) + 1]:
        if op in needed and op is not first:
            op.detach()
            kernel.body.block.insert_op_before(op, first)
    return program


def _met_within(kernel: tile.KernelOp, shared: tile.ProgramOp) -> bool:
    """Has programs that may meet step within the shared ones; whether they can."""
    ops = list(kernel.body.block.ops)
    meeting = [op for op in ops[: ops.index(shared)] if isinstance(op, tile.ProgramOp) and op not in apart(kernel)]
    below = set[SSAValue](op.result for op in meeting)
    moved: list[Operation] = []
    for op in ops[: ops.index(shared) + 1]:
        if op in meeting or not below.isdisjoint(op.operands):
            below.update(op.results)
            moved.append(op)
    if shared in moved:
        return False
    for op in reversed(moved):
        op.detach()
        kernel.body.block.insert_op_after(op, shared)
    return True


def _walked_by_ones(kernel: tile.KernelOp, step: list[tile.RangeOp]) -> list[tile.ProgramOp]:
    """The programs' variables of which an operation has one value at a time, not a tile."""
    starts = {axis.start for axis in step}
    programs = [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)]
    return [op for op in programs if op.result not in starts and constant(op.step) == 1]


def _is_large(lengths: Lengths, axes: Iterable[tuple[bool, SSAValue | int]], least: int, name: str) -> SSAValue:
    """Whether what has such axes, some of rows, is of some size at least."""
    begin = lengths.begin
    number, count = lengths.product(_slow(length, begin) if of_rows else length for of_rows, length in axes)
    one = insert_before(begin, index_constant(1)) if count is None else count
    one.name_hint = one.name_hint or name
    return insert_before(begin, arith.CmpiOp(one, insert_before(begin, index_constant(-(-least // number))), "sge"))


def _slow(rows: SSAValue | int, begin: Operation) -> SSAValue | int:
    """How many rows' time a product with some rows takes: as it reads what few rows use, threefold up to 24."""
    if isinstance(rows, int):
        return max(rows, min(3 * rows, 24))
    threefold = insert_before(begin, arith.MuliOp(rows, insert_before(begin, index_constant(3))))
    few = insert_before(begin, arith.MinSIOp(threefold, insert_before(begin, index_constant(24))))
    return insert_before(begin, arith.MaxSIOp(rows, few))
