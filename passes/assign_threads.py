"""assign-threads: says of which calls several threads may share the programs of a kernel.

Why: programs are independent, but Python runs one thread at a time. Two gain on one only while each is in a call of
NumPy, and every such call hands the interpreter over and takes it back. Where calls are short, as with few queries, few
keys or small heads, two threads are slower than one, however many programs there are. So what counts is the largest
step of a program, not all that a call does.

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
      %M1 = spec.dim "M"
      %rows1 = arith.constant 128 : index
      %0 = arith.minsi %M1, %rows1 : index
      %D1 = spec.dim "D"
      %1 = arith.muli %0, %D1 : index
      %N1 = spec.dim "N"
      %keys1 = arith.constant 512 : index
      %2 = arith.minsi %N1, %keys1 : index
      %3 = arith.muli %1, %2 : index
      %least = arith.constant 1048576 : index
      %worth = arith.cmpi sge, %3, %least : index
      tile.threads where %worth
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

A step is an operation on tiles, as large as all axes of its operands together: for a matrix product its
multiplications. What is known of an axis before a call reads data counts: its size, how many rows or keys there are at
most, or the extent of a tensor that keys are places of. `least` is the size from which on two threads were faster than
one where that was measured.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.lengths import Lengths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith


@dataclass(frozen=True)
class AssignThreads(ModulePass):
    """Lets each kernel say of which calls threads may share its programs."""

    name = "assign-threads"
    exactness = Exactness.EXACT

    least: int = 1 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                _assign(kernel, self.least)


def _assign(kernel: tile.KernelOp, least: int) -> None:
    kinds = {type(op) for op in kernel.body.block.ops}
    if tile.ProgramOp not in kinds or tile.ThreadsOp in kinds:
        return
    begin = kernel.body.block.first_op
    assert begin is not None
    lengths = Lengths(begin)
    step: SSAValue | None = None
    for axis in _largest_step(kernel):
        length = lengths.of(axis)
        if isinstance(length, int):
            least = -(-least // length)
        else:
            step = length if step is None else insert_before(begin, arith.MuliOp(step, length))
    one = insert_before(begin, index_constant(1)) if step is None else step
    worth = arith.CmpiOp(one, insert_before(begin, index_constant(least)), "sge")
    said = tile.ThreadsOp(insert_before(begin, worth, "worth"))
    said.location = next(op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)).location
    kernel.body.block.insert_op_before(said, begin)


def _largest_step(kernel: tile.KernelOp) -> list[SSAValue]:
    """The axes of the operation on tiles that has most, in the order of the kernel."""
    axes = AxesAnalysis()
    makers = [op for op in operations(kernel) if op.results and not op.regions]
    largest = max((frozenset[SSAValue]().union(*map(axes, op.operands)) for op in makers), key=len)
    return [op.result for op in makers if isinstance(op, tile.RangeOp) and op.result in largest]
