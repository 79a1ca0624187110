"""find-meetings: finds along which variables rows differ that add to one element.

Why: what rows add up to is quick where each tile has elements of its own, and threads may share programs where each
program has. A place that is an index, moved by what is known already or times a number that is not 0, tells the index;
from all places the others follow one by one. Rows that agree in those that no place tells never meet.

Before:

    spec.tensor @x "input" "f32" ["B", "H", "M"]
    spec.tensor @o "output" "f32" ["B", "H // 2", "M"] partial
    attn.kernel @k {
      %two = arith.constant 2 : index
      %B = spec.dim "B"
      %H = spec.dim "H"
      %M = spec.dim "M"
      %b = attn.each "b" to %B
      %h = attn.each "h" to %H
      %i = attn.each "i" to %M
      %x = attn.read @x[%b, %h, %i] : f32
      %g = arith.floordivsi %h, %two : index
      attn.write @o[%b, %g, %i] = %x adds along (%b, %h, %i) : f32
    }

After:

    spec.tensor @x "input" "f32" ["B", "H", "M"]
    spec.tensor @o "output" "f32" ["B", "H // 2", "M"] partial
    attn.kernel @k {
      %two = arith.constant 2 : index
      %B = spec.dim "B"
      %H = spec.dim "H"
      %M = spec.dim "M"
      %b = attn.each "b" to %B
      %h = attn.each "h" to %H
      %i = attn.each "i" to %M
      %x = attn.read @x[%b, %h, %i] : f32
      %g = arith.floordivsi %h, %two : index
      attn.write @o[%b, %g, %i] = %x adds along (%h) : f32
    }

Of several writes that add to one tensor the rows of one may meet those of another: they stay as they are.

Requires: simplify-indices. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import replace
from attndsl.ir.told import Told
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue


@dataclass(frozen=True)
class FindMeetings(ModulePass):
    """Narrows down what each attn.write that adds does so along."""

    name = "find-meetings"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp):
                for write in list(_alone(kernel)):
                    _narrow(write, kernel)


def _alone(kernel: attn.KernelOp) -> Iterator[attn.WriteOp]:
    """The writes that add to a tensor to which no other one of the kernel does."""
    adds = [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp) and op.adds is not None]
    for write in adds:
        if sum(op.tensor == write.tensor for op in adds) == 1:
            yield write


def told_by_places(write: attn.WriteOp, kernel: attn.KernelOp) -> Axes:
    """The variables that all rows agree in that meet in one element: those that the places of a write tell."""
    return Told(write.indices, kernel.body.block).known


def _narrow(write: attn.WriteOp, kernel: attn.KernelOp) -> None:
    told = Told(write.indices, kernel.body.block)
    placed = frozenset[SSAValue]().union(*map(told.axes, write.indices))
    along = [variable for variable in write.along if variable not in placed]
    told.learn(along)
    for variable in write.along:
        if variable not in told.known:
            along.append(variable)
            told.learn([variable])
    if len(along) < len(write.along):
        narrowed = attn.WriteOp(write.tensor.string_value(), write.indices, write.value, write.where, along)
        narrowed.location = write.location
        kernel.body.block.insert_op_before(narrowed, write)
        replace(write, [])
