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

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import is_launch_time
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant, copy_before, index_constant, insert_before
from attndsl.ir.sizes import known_limit
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


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
    lengths = _Lengths(begin)
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


class _Lengths:
    """How long axes are at most, as far as that is known before a call reads data; computed before `begin`."""

    def __init__(self, begin: Operation) -> None:
        self.begin = begin
        self.copies: dict[SSAValue, SSAValue] = {}

    def of(self, axis: SSAValue) -> SSAValue | int:
        """The smaller of an axis's size and of what else limits it; a number where that is all that is known."""
        op = axis.owner
        assert isinstance(op, tile.RangeOp)
        limit = self.limit(op)
        if limit is None and (known := constant(op.size)) is not None:
            return int(known)
        size = copy_before(self.begin, op.size, self.copies)
        return size if limit is None else insert_before(self.begin, arith.MinSIOp(limit, size))

    def limit(self, axis: tile.RangeOp) -> SSAValue | None:
        """How many rows or keys there are, or of what tensor keys are places."""
        start, loop = axis.start.owner, axis.parent_op()
        found: SSAValue | None = None
        if isinstance(start, tile.ProgramOp):
            found = start.bound or start.extent
        elif isinstance(loop, tile.LoopOp):
            found = known_limit(loop.ub)
            if found is None and (dim := _dim_indexed(axis.result)) is not None:
                return insert_before(self.begin, spec.DimOp(dim))
        known = found is not None and is_launch_time(found)
        return copy_before(self.begin, found, self.copies) if found is not None and known else None


def _dim_indexed(axis: SSAValue) -> str | None:
    """A dim that is the extent of a tensor in which an axis, perhaps shifted, is a place."""
    places = [axis, *(op.results[0] for op in tile.users(axis) if isinstance(op, arith.AddiOp))]
    loads = [(op, place) for place in places for op in tile.users(place) if isinstance(op, tile.LoadOp)]
    for op, place in loads:
        match enclosing_tensor(op, op.tensor.string_value()).shape[list(op.indices).index(place)]:
            case ("dim", str(name)):
                return name
    return None
