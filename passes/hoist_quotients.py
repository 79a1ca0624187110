"""hoist-quotients: what divides integers that a launch knows is computed by the launch, once for all programs.

Why: a GPU has no instruction that divides integers, and takes a hundred for it; each program would take them. The host
divides once, and hands the quotient to the kernel as one more number.

Before:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = tile.program "i" to %M step %c1
      %middle = arith.floordivsi %N, %c2 : index
      %x = tile.load @x[%i, %middle] : f32
      tile.store @o[%i] = %x : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = tile.program "i" to %M step %c1
      %middle = arith.floordivsi %N, %c2 : index
      %x = tile.load @x[%i, %middle] : f32
      tile.store @o[%i] = %x : f32
      tile.launched %middle : index
    }

Remainders count as quotients. What no program computes, as the number of programs, is named nowhere.

Requires: split-addresses, after which it is known what programs compute. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import executed, launch_time
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import say
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith


@dataclass(frozen=True)
class HoistQuotients(ModulePass):
    """Names the quotients of each kernel that a launch computes."""

    name = "hoist-quotients"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                say(kernel, tile.LaunchedOp, _quotients(kernel))


def _quotients(kernel: tile.KernelOp) -> list[SSAValue]:
    """The quotients of what a launch knows that programs compute."""
    known, run = launch_time(kernel), executed(kernel)
    divisions = [op for op in operations(kernel) if type(op) in (arith.FloorDivSIOp, spec.ModOp) and op in run]
    return [op.results[0] for op in divisions if op.results[0] in known]
