"""find-ranges: says which integers are never negative, and which may leave 64 bits, where an emitter has to know it.

Why: targets divide with the rounding to 0 that hardware has, and a quotient that rounds down takes some instructions
more; the two are one where nothing is negative. And a launch computes in Python, whose integers do not wrap: what may
leave 64 bits has to be brought back. Both are proved here, once for all targets.

Before:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @shift index
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %M = spec.dim "M"
      %shift = spec.param "shift" : index
      %square = arith.muli %shift, %shift : index
      %i = tile.program "i" to %M step %c1
      %half = arith.floordivsi %i, %c2 : index
      %at = arith.addi %i, %square : index
      %last = arith.minsi %at, %half : index
      %x = tile.load @x[%i, %last] : f32
      tile.store @o[%i] = %x : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.parameter @shift index
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %M = spec.dim "M"
      %shift = spec.param "shift" : index
      %square = arith.muli %shift, %shift : index
      %i = tile.program "i" to %M step %c1
      %half = arith.floordivsi %i, %c2 : index
      %at = arith.addi %i, %square : index
      %last = arith.minsi %at, %half : index
      %x = tile.load @x[%i, %last] : f32
      tile.store @o[%i] = %x : f32
      tile.unsigned %M, %i : index, index
      tile.wraps %square : index
    }

Asked are the operands of the divisions that programs compute, and how far the values of programs go, of which there are
none where that is negative; and all integers that a launch can compute.

Requires: hoist-quotients. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import Signs, launch_time
from attndsl.ir.exactness import Exactness
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant, say
from attndsl.ir.statements import named, operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith, index


@dataclass(frozen=True)
class FindRanges(ModulePass):
    """Names the integers of each kernel that are never negative, and those that wrap."""

    name = "find-ranges"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                ranges = Ranges()
                nonnegative = Signs(ranges).nonnegative
                say(kernel, tile.UnsignedOp, [value for value in dict.fromkeys(_asked(kernel)) if nonnegative(value)])
                known = [value for value in launch_time(kernel) if value.type == index]
                say(kernel, tile.WrapsOp, [value for value in known if not ranges.fits(value)])


def _asked(kernel: tile.KernelOp) -> Iterator[SSAValue]:
    """The integers whose sign an emitter looks at."""
    launched = named(kernel, tile.LaunchedOp)
    for op in operations(kernel):
        values: tuple[SSAValue, ...] = ()
        if type(op) is tile.ProgramOp:
            values = (op.bound or op.extent,)
        elif type(op) in (arith.FloorDivSIOp, spec.ModOp) and op.results[0] not in launched:
            values = tuple(op.operands)
        yield from (value for value in values if constant(value) is None)
