"""assign-homes: gives the large tiles of loops over keys a home, which a thread has once and writes them into.

Why: scores and weights are a tile of 128 by 512 numbers each, made anew several times for every tile of keys. Such an
array is larger than what C's allocator keeps at hand in a process that has freed little: each one is fetched from the
system page by page, and given back, which took a third of a call. One that is written over in place stays in the cache.

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
        %p = math.exp %s : f32
        %t = tile.sum %p over %j : f32 to f32
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
      %c0 = arith.constant 0 : index
      %rows = arith.constant 128 : index
      %keys = arith.constant 512 : index
      %zero = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      tile.home @scratch(%rows, %keys) : f32
      %i0 = tile.program "i" to %M step %rows
      %i = tile.range "i" from %i0 to %M size %rows
      %d = tile.range "d" from %c0 to %D size %D
      %q = tile.load @q[%i, %d] : f32
      %none = tile.broadcast %zero over (%i) : f32 to f32
      %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %k = tile.load @k[%j, %d] : f32
        %s = tile.dot %q, %k over %d : f32
        tile.into @scratch[%i, %j] = %s : f32
        %p = math.exp %s : f32
        tile.into @scratch[%i, %j] = %p : f32
        %t = tile.sum %p over %j : f32 to f32
        %l1 = arith.addf %l, %t : f32
        tile.yield %l1 : f32
      }
      tile.store @o[%i] = %sum : f32
    }

Homes have tiles of rows by keys, or by columns, whose sizes are bounded, so that how much they hold in all does not
grow with a call: tiles that are not needed at once share one. Where products have batch axes, a home is as large as a
call's tiles are at most, since they are many in one where they are small (`batch-programs`). Where rows lie last, so
does what all keys are multiplied with, queries say: in a home it is turned once, not in each product. So are the rows
of a projection, in a kernel that walks no keys. What else rests on the extents of features is smaller, and is left, as
are vectors: of few elements a new array costs less than finding the part of an old one. So is what no function of NumPy
writes into an array that is there: a choice between two tiles, a product under a condition. What puts a number into
some places of a tile is written over that.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.allocation import assign, begin_of, propose
from attndsl.ir.analyses.arrangement import axes_of_batches, batch_axes, row_axis
from attndsl.ir.analyses.lengths import Lengths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, Use, arith, math

WRITING: tuple[type[Operation], ...] = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, arith.MinimumfOp, arith.MaximumfOp),
    *(math.AbsFOp, math.ExpOp, math.Exp2Op, math.LogOp, math.Log2Op, math.SqrtOp, math.SinOp, math.CosOp),
    *(math.TanhOp, math.FloorOp),
)
"""The elementwise operations that a function of NumPy writes into an array that is there."""


@dataclass(frozen=True)
class AssignHomes(ModulePass):
    """Gives the tiles of rows by keys of each kernel homes."""

    name = "assign-homes"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp) and not any(isinstance(o, tile.HomeOp) for o in kernel.body.block.ops):
                large = _Large(kernel)
                assign(kernel, propose(kernel, large.wants, large.size))


class _Large:
    """Which operations make tiles that get a home, and of what size."""

    def __init__(self, kernel: tile.KernelOp) -> None:
        self.axes = AxesAnalysis()
        self.among = batch_axes(kernel)
        self.batch = axes_of_batches(kernel, self.axes)
        self.lengths = Lengths(begin_of(kernel))
        self.rows = row_axis(kernel) if kernel.rows_last is not None else None
        self.walks = any(isinstance(op, tile.LoopOp) for op in operations(kernel))

    def wants(self, op: Operation) -> bool:
        """Whether an operation makes a tile of rows by keys or columns, or what one is made of, and can write it."""
        axes = self.axes(op.results[0]) - self.batch
        if len(axes) != 2:
            return False
        if any(tile.is_key(axis) or tile.is_column(axis) for axis in axes):
            return not any(map(_is_feature, axes)) and self.is_written(op)
        turned = self.rows is not None and isinstance(op, (tile.LoadOp, *WRITING))
        return turned and any(map(self.is_factor, op.results[0].uses))

    def is_factor(self, use: Use) -> bool:
        """Whether something made before a loop is multiplied in it, or it is rows that a kernel without loops does."""
        op = use.operation
        made = op.operands[use.index]
        if not isinstance(op, tile.DotOp) or not isinstance(made.owner, Operation):
            return False
        return op.parent is not made.owner.parent or (not self.walks and self.rows in self.axes(made))

    def is_written(self, op: Operation) -> bool:
        """Whether NumPy writes what an operation makes into an array that is there."""
        match op:
            case tile.DotOp():
                return op.where is None and op.is_of_matrices(self.axes, self.among)
            case arith.SelectOp():  # a number, over a tile that nothing else reads
                kept = [side for side in (op.lhs, op.rhs) if constant(side) is None]
                return len(kept) == 1 and self.ends_here(kept[0], op)
        return type(op) in WRITING

    def ends_here(self, value: SSAValue, op: Operation) -> bool:
        """Whether a tile that has a home is all that an operation gives axes to, and is read by that alone."""
        same = self.axes(value) == self.axes(op.results[0]) and tile.users(value) == [op]
        return same and isinstance(value.owner, Operation) and self.wants(value.owner)

    def size(self, axis: SSAValue) -> SSAValue:
        """The size of an axis; of one in tiles with batch axes no more than a call needs: they are as many as fit."""
        assert isinstance(axis.owner, tile.RangeOp)
        if not self.batch:
            return axis.owner.size
        length = self.lengths.of(axis)
        return axis.owner.size if isinstance(length, int) else length


def _is_feature(axis: SSAValue) -> bool:
    """Whether an axis is that of a tensor, whole, and not a part of it that a program or a turn of a loop has."""
    assert isinstance(axis.owner, tile.RangeOp)
    return constant(axis.owner.start) is not None
