"""wrap-integers: says which single integers are brought back to 64 bits where programs compute in Python.

Why: the integers of the IR wrap at 64 bits, as those of hardware and of NumPy's arrays do. What is the same for a whole
tile, a target may compute in Python, whose integers have no bounds: what may leave 64 bits then has to be brought back,
and what cannot should read as plain arithmetic.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @shift index
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %shift = spec.param "shift" : index
      %square = arith.muli %shift, %shift : index
      %i = tile.program "i" to %M step %c1
      %near = arith.addi %i, %shift : index
      %far = arith.addi %near, %square : index
      %at = arith.minsi %far, %near : index
      %in = arith.cmpi slt, %at, %N : index
      %x = tile.load @x[%at] where %in : f32
      tile.store @o[%i] = %x : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @shift index
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %shift = spec.param "shift" : index
      %square = arith.muli %shift, %shift : index
      %i = tile.program "i" to %M step %c1
      %near = arith.addi %i, %shift : index
      %far = arith.addi %near, %square : index
      %at = arith.minsi %far, %near : index
      %in = arith.cmpi slt, %at, %N : index
      %x = tile.load @x[%at] where %in : f32
      tile.store @o[%i] = %x : f32
      tile.wraps %far : index
    }

A sum, difference or product of which every use is one that wraps itself is not named: there it does not matter how
often an operand has gone around.

Requires: tile. Ensures: what is not named fits 64 bits, or goes into nothing but sums and products that are named, or
into others like it. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import say
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, arith

RING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""The operations of which it does not matter whether an operand has wrapped, where the result wraps."""

LEAVING = (*RING, arith.ShLIOp, arith.FloorDivSIOp)
"""Those whose results may leave 64 bits though their operands do not."""


@dataclass(frozen=True)
class WrapIntegers(ModulePass):
    """Names the single integers of each kernel that wrap."""

    name = "wrap-integers"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                leaving = _leaving(kernel)
                say(kernel, tile.WrapsOp, [each.results[0] for each in leaving if not _wraps_later(each, leaving)])


def _leaving(kernel: tile.KernelOp) -> dict[Operation, None]:
    """The operations on single integers that may give one that needs more than 64 bits, in order."""
    axes, ranges = AxesAnalysis(), Ranges()
    found = (op for op in operations(kernel) if isinstance(op, LEAVING) and not axes(op.results[0]))
    return {op: None for op in found if not ranges.fits(op.results[0])}


def _wraps_later(op: Operation, leaving: dict[Operation, None]) -> bool:
    """Whether all that an integer goes into is a sum or product that wraps itself."""
    return isinstance(op, RING) and all(
        isinstance(user, RING) and user in leaving for user in tile.users(op.results[0])
    )
