"""find-boxes: marks loads that are boxes of tensors, where the registers of their addresses are wanted for more.

Why: a thread keeps an address for each piece of 16 bytes that it reads of a tile of keys. A GPU with a unit that copies
boxes (NVIDIA's tensor memory accelerator) keeps one for all. A turn that makes many products, as those of gradients do,
has so many numbers at once that with them a smaller tile is chosen, or fewer programs run at a time.

Before:

    spec.tensor @k "input" "bf16" ["N", "128"]
    spec.tensor @q "input" "bf16" ["M", "128"]
    spec.tensor @w "input" "bf16" ["M", "128"]
    spec.tensor @x "output" "f32" ["N", "128"]
    spec.tensor @y "output" "f32" ["N", "128"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 128 : index
      %rows = spec.choice "ROWS"
      %keys = spec.choice "KEYS"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %j0 = tile.program "j" to %N step %rows
      %j = tile.range "j" from %j0 to %N size %rows
      %d = tile.range "d" from %zero to %size size %size
      %start = tile.broadcast %none over (%j, %d) : f32 to f32
      %k = tile.load @k[%j, %d] : f32
      %a, %b = tile.loop %i0 = %zero to %M step %keys iter_args(%x = %start, %y = %start) -> (f32, f32) {
        %i = tile.range "i" from %i0 to %M size %keys
        %q = tile.load @q[%i, %d] : f32
        %w = tile.load @w[%i, %d] : f32
        %s = tile.dot %k, %q over %d rounded to "bf16" : f32
        %t = tile.dot %k, %w over %d rounded to "bf16" : f32
        %p = arith.mulf %s, %t : f32
        %xs = tile.dot %p, %q over %i rounded to "bf16" : f32
        %ys = tile.dot %s, %w over %i rounded to "bf16" : f32
        %x1 = arith.addf %x, %xs : f32
        %y1 = arith.addf %y, %ys : f32
        tile.yield %x1, %y1 : f32, f32
      }
      tile.store @x[%j, %d] = %a : f32
      tile.store @y[%j, %d] = %b : f32
    }

After:

    spec.tensor @k "input" "bf16" ["N", "128"]
    spec.tensor @q "input" "bf16" ["M", "128"]
    spec.tensor @w "input" "bf16" ["M", "128"]
    spec.tensor @x "output" "f32" ["N", "128"]
    spec.tensor @y "output" "f32" ["N", "128"]
    tile.kernel @k {
      %zero = arith.constant 0 : index
      %none = arith.constant 0.0 : f32
      %size = arith.constant 128 : index
      %rows = spec.choice "ROWS"
      %keys = spec.choice "KEYS"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %j0 = tile.program "j" to %N step %rows
      %j = tile.range "j" from %j0 to %N size %rows
      %d = tile.range "d" from %zero to %size size %size
      %start = tile.broadcast %none over (%j, %d) : f32 to f32
      %k = tile.load box @k[%j, %d] : f32
      %a, %b = tile.loop %i0 = %zero to %M step %keys iter_args(%x = %start, %y = %start) -> (f32, f32) {
        %i = tile.range "i" from %i0 to %M size %keys
        %q = tile.load box @q[%i, %d] : f32
        %w = tile.load box @w[%i, %d] : f32
        %s = tile.dot %k, %q over %d rounded to "bf16" : f32
        %t = tile.dot %k, %w over %d rounded to "bf16" : f32
        %p = arith.mulf %s, %t : f32
        %xs = tile.dot %p, %q over %i rounded to "bf16" : f32
        %ys = tile.dot %s, %w over %i rounded to "bf16" : f32
        %x1 = arith.addf %x, %xs : f32
        %y1 = arith.addf %y, %ys : f32
        tile.yield %x1, %y1 : f32, f32
      }
      tile.store @x[%j, %d] = %a : f32
      tile.store @y[%j, %d] = %b : f32
    }

All loads of a kernel are marked that can be, or none: all where a turn makes four products of 16-bit numbers, or where
`all` asks for it, as fuzzing does. A turn of two or three reads as fast by addresses (docs/performance.md, "Tiles"). An
axis of a tile ends where a tile or the tensor does: what lies outside of the tensor is copied as 0, and nothing else is
left out of a box. What varies along one axis alone is read in loops, where there is much of it.

Requires: narrow-products, since products of three parts are left alone; before assign-schedules. Exactness: bit-exact.
Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.boxes import Side, box_of, is_extent, lies_inside
from attndsl.ir.analyses.footprint import MANY, Footprint
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.machines import DEFAULT, MACHINES
from attndsl.ir.spec import enclosing_tensor
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, UnitAttr
from attndsl.passes.pad_axes import fits, is_full


@dataclass(frozen=True)
class FindBoxes(ModulePass):
    """Marks the loads that are boxes in kernels whose turns make many products."""

    name = "find-boxes"
    exactness = Exactness.EXACT

    machine: str = DEFAULT
    all: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not MACHINES[self.machine].boxes:
            return
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                footprint = Footprint.of(kernel)
                if self.all or (footprint.products >= MANY and not footprint.by_three):
                    for load in _boxes(kernel):
                        load.box = UnitAttr()


def _boxes(kernel: tile.KernelOp) -> Iterator[tile.LoadOp]:
    """The loads that are boxes, but for those of a slow path and what a program reads once of rows alone."""
    axes = AxesAnalysis()
    for op in kernel.walk():
        if not isinstance(op, tile.LoadOp) or op.apart is not None:
            continue
        loop = op.parent_op()
        walked = isinstance(loop, tile.LoopOp) and loop.axis is not None
        if not walked and (loop is not kernel or len(axes(op.result)) < 2):
            continue
        box = box_of(op, axes)
        if box is not None and lies_inside(op, box) and _ends_with_tensor(op, box):
            yield op


def _ends_with_tensor(op: tile.LoadOp, box: tuple[Side, ...]) -> bool:
    """Whether each axis of a box is full, or ends where the tensor does."""
    shape = enclosing_tensor(op, op.tensor.string_value()).shape
    for side, extent in zip(box, shape, strict=True):
        axis = side.axis.owner if side.axis is not None else None
        if not isinstance(axis, tile.RangeOp) or is_full(axis):
            continue
        # An axis of another size is made longer: it must have been all of its dimension.
        whole = fits(axis.size) or axis.size is axis.stop
        if not whole or not side.begins_at_axis or not is_extent(axis.stop, extent):
            return False
    return True
