"""share-scans: a first look at data that several programs would take alike is taken once, by a kernel of its own.

Why: which keys a tile of rows may see is often the same for all heads, as documents and their ends are, and yet each
program looks it up, through all the data that the mask reads. Where few keys are then left to multiply, that is half of
the time. So the look becomes a kernel with a program for each tile of rows, and not for each head of it, which leaves
what it finds in a workspace.

Before:

    spec.tensor @x "input" "f32" ["H", "N"]
    spec.tensor @row "input" "i32" ["M"]
    spec.tensor @key "input" "i32" ["N"]
    spec.tensor @o "output" "f32" ["H", "M"]
    tile.kernel @k form "whole" {
      %one = arith.constant 1 : index
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %H = spec.dim "H"
      %N = spec.dim "N"
      %M = spec.dim "M"
      %h = tile.program "h" to %H step %one
      %i0 = tile.program "i" to %M step %keys
      %i = tile.range "i" from %i0 to %M size %keys
      %r = tile.load @row[%i] : index
      %most = tile.max %r over %i : index to index
      %chunk = arith.constant 2048 : index
      %seen_start = tile.loop %j1 = %zero to %N step %chunk iter_args(%first = %N) -> (index) {
        %j = tile.range "j" from %j1 to %N size %chunk
        %c = tile.load @key[%j] : index
        %some = arith.cmpi sge, %most, %c : index
        %j2 = arith.select %some, %j, %N : index
        %first1 = tile.min %j2 over %j : index to index
        %first2 = arith.minsi %first, %first1 : index
        tile.yield %first2 : index
      }
      %none = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %seen_start to %N step %keys iter_args(%m = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %c = tile.load @key[%j] : index
        %seen = arith.cmpi sge, %r, %c : index
        %v = tile.load @x[%h, %j] : f32
        %v1 = arith.select %seen, %v, %low : f32
        %largest = tile.max %v1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%h, %i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["H", "N"]
    spec.tensor @row "input" "i32" ["M"]
    spec.tensor @key "input" "i32" ["N"]
    spec.tensor @o "output" "f32" ["H", "M"]
    spec.tensor @k_found "workspace" "i64" ["M", "1"]
    tile.kernel @k_look form "whole" scheduled as @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %N = spec.dim "N"
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %keys
      %i = tile.range "i" from %i0 to %M size %keys
      %r = tile.load @row[%i] : index
      %most = tile.max %r over %i : index to index
      %chunk = arith.constant 2048 : index
      %seen_start = tile.loop %j1 = %zero to %N step %chunk iter_args(%first = %N) -> (index) {
        %j = tile.range "j" from %j1 to %N size %chunk
        %c = tile.load @key[%j] : index
        %some = arith.cmpi sge, %most, %c : index
        %j2 = arith.select %some, %j, %N : index
        %first1 = tile.min %j2 over %j : index to index
        %first2 = arith.minsi %first, %first1 : index
        tile.yield %first2 : index
      }
      %0 = arith.constant 0 : index
      tile.store @k_found[%i0, %0] = %seen_start : index
    }
    tile.kernel @k form "whole" {
      %one = arith.constant 1 : index
      %keys = arith.constant 16 : index
      %low = arith.constant 0xff800000 : f32
      %H = spec.dim "H"
      %N = spec.dim "N"
      %M = spec.dim "M"
      %h = tile.program "h" to %H step %one
      %i0 = tile.program "i" to %M step %keys
      %i = tile.range "i" from %i0 to %M size %keys
      %r = tile.load @row[%i] : index
      %0 = arith.constant 0 : index
      %1 = tile.load @k_found[%i0, %0] : index
      %2 = arith.minsi %N, %1 : index
      %3 = arith.constant 0 : index
      %seen_start = arith.maxsi %2, %3 : index
      %none = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %seen_start to %N step %keys iter_args(%m = %none) -> (f32) {
        %j = tile.range "j" from %j0 to %N size %keys
        %c = tile.load @key[%j] : index
        %seen = arith.cmpi sge, %r, %c : index
        %v = tile.load @x[%h, %j] : f32
        %v1 = arith.select %seen, %v, %low : f32
        %largest = tile.max %v1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%h, %i] = %t : f32
    }

What several programs would find alike rests on some of the program variables only. It is found by these: a workspace
has a place for each of their values, so that it says nothing of the size of tiles. That size a launch chooses for the
kernel that folds the keys, and the look has to have the same, which is what being `scheduled as` that kernel means.

What a look carries are the least and the largest of integers. So what is read is brought where it lies anyway: no value
is larger than what a least one starts from, and what analyses know of the loop they know then of what it left.

A look stays where it is that rests on all program variables, or on no tile of rows: its keys are then few, or its
programs. And so it does in kernels that fold splits of the keys, whose rows are few: one launch more would take longer.

Requires: scan-keys. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.forms import join
from attndsl.ir.polynomial import Facts
from attndsl.ir.ranges import Ranges
from attndsl.ir.rewrite import constant, copied, index_constant, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.workspaces import ELEMENTS, fresh, room_of, symbols_of
from attndsl.ir.xdsl import (
    Block,
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    SSAValue,
    SymbolRefAttr,
    arith,
    index,
)


@dataclass(frozen=True)
class ShareScans(ModulePass):
    """Moves looks at data that programs would take alike into kernels of their own."""

    name = "share-scans"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        axes = AxesAnalysis()
        for kernel in [each for each in op.body.block.ops if isinstance(each, tile.KernelOp)]:
            if kernel.form is not None and kernel.form.data == "split":
                continue
            for loop in [each for each in kernel.body.block.ops if isinstance(each, tile.LoopOp)]:
                if _looks(loop, axes):
                    _share(loop, kernel, op)
        remove_dead(op)


def _looks(loop: tile.LoopOp, axes: AxesAnalysis) -> bool:
    """Whether a loop reads data, and carries the least and the largest of integers that are the same for a tile."""
    merges = all(loop.merge(result) is not None and not axes(result) for result in loop.results)
    return merges and len(loop.results) > 0 and any(isinstance(op, tile.LoadOp) for op in operations(loop))


def _share(loop: tile.LoopOp, kernel: tile.KernelOp, module: ModuleOp) -> None:
    """Moves a look into a kernel of its own, where that pays, and a launch knows how many places it fills."""
    needed, facts = _needed(loop), Facts(kernel.body.block)
    programs = of_kind(kernel, tile.ProgramOp)
    own = [op for op in programs if op in needed]
    rooms = [room for op in own if (room := room_of(op, facts)) is not None]
    alike = any(constant(op.extent) != 1 for op in programs if op not in needed)
    if len(rooms) < len(own) or not alike or all(constant(op.step) == 1 for op in own):
        return
    kernels = [each for each in module.body.block.ops if isinstance(each, tile.KernelOp)]
    name = fresh(f"{kernel.entry.data}_found", symbols_of(module))
    tensor = spec.TensorOp(name, "workspace", ELEMENTS[index], [*rooms, len(loop.results)])
    tensor.location = loop.location
    module.body.block.insert_op_before(tensor, kernels[0])
    look = tile.KernelOp(fresh(f"{kernel.entry.data}_look", {each.entry.data for each in kernels}), kernel.form)
    look.when, look.unless, look.scheduled_as = kernel.when, kernel.unless, SymbolRefAttr(kernel.entry.data)
    look.location, look.instead = kernel.location, kernel.instead
    join(kernel, [look])
    module.body.block.insert_op_before(look, kernel)
    copies: dict[SSAValue, SSAValue] = {}
    for op in (op for op in kernel.body.block.ops if op in needed):
        look.body.block.add_op(copied(op, copies))
    place = SymbolRefAttr(name)
    for n, result in enumerate(loop.results):
        number = index_constant(n)
        store = tile.StoreOp(place, [*(copies[op.result] for op in own), number.result], copies[result], None)
        for added in (number, store):
            added.location = loop.location
            look.body.block.add_op(added)
    replace(loop, [_read(loop, n, place, [op.result for op in own]) for n in range(len(loop.results))])


def _needed(loop: tile.LoopOp) -> set[Operation | Block]:
    """A loop, and all of its kernel that it is computed from; what every call has been checked to meet, too."""
    block = loop.parent
    assert block is not None
    needed: set[Operation | Block] = set()
    waiting: list[Operation] = [loop, *(op for op in block.ops if isinstance(op, spec.AssumeOp))]
    while waiting:
        op = waiting.pop()
        if op not in needed and op.parent is block:
            needed.add(op)
            waiting += [
                v.owner for each in (op, *operations(op)) for v in each.operands if isinstance(v.owner, Operation)
            ]
    return needed


def _read(loop: tile.LoopOp, n: int, tensor: SymbolRefAttr, place: Sequence[SSAValue]) -> SSAValue:
    """What a look has left in a workspace at a place, as its number n, within what is known of it before `loop`."""
    result, start = loop.results[n], loop.iter_args[n]
    merge = loop.merge(result)
    assert merge is not None
    if isinstance(start.owner, tile.BroadcastOp):  # along no axis
        start = start.owner.value
    load = tile.LoadOp(tensor, [*place, insert_before(loop, index_constant(n))], None, index)
    found = insert_before(loop, merge(start, insert_before(loop, load)))
    ranges = Ranges()
    if (least := ranges(result).low) > ranges(found).low:
        found = insert_before(loop, arith.MaxSIOp(found, insert_before(loop, index_constant(least))))
    return found
