"""prefetch-gathers: the indices of a gather are loaded one iteration of the loop before the gather.

Why: a paged cache, or a list of chosen keys, is read twice in a row: first where a tile's keys are, then the keys. Left
so, a GPU that reads ahead waits for the first before it can ask for the second, in every turn. When a turn finds the
first already there, all that it waits for is what it computes with.

Before:

    spec.tensor @x "input" "f32" ["P", "S"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %S = spec.dim "S"
      %L = spec.dim "L"
      %N = arith.muli %S, %L : index
      %i = tile.program "i" to %M step %keys
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %low) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %page = arith.floordivsi %j, %S : index
        %place = spec.mod %j, %S
        %table = tile.load @table[%page] : index
        %v = tile.load @x[%table, %place] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["P", "S"]
    spec.tensor @table "input" "i32" ["L"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %M = spec.dim "M"
      %S = spec.dim "S"
      %L = spec.dim "L"
      %N = arith.muli %S, %L : index
      %i = tile.program "i" to %M step %keys
      %any = arith.cmpi slt, %zero, %N : index
      %end_first = arith.addi %zero, %keys : index
      %j_first = tile.range "j" from %zero to %end_first size %keys
      %page_first = arith.floordivsi %j_first, %S : index
      %table_first = tile.load @table[%page_first] where %any : index
      %t, %table_last = tile.loop %j0 = %zero to %N step %keys
          iter_args(%m = %low, %table_now = %table_first) -> (f32, index) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %place = spec.mod %j, %S
        %j0_next = arith.addi %j0, %keys : index
        %more = arith.cmpi slt, %j0_next, %N : index
        %end_next = arith.addi %j0_next, %keys : index
        %j_next = tile.range "j" from %j0_next to %end_next size %keys
        %page_next = arith.floordivsi %j_next, %S : index
        %table_next = tile.load @table[%page_next] where %more : index
        %kept = tile.rename_axis %table_next from %j_next to %j_first
        %table = tile.rename_axis %table_now from %j_first to %j
        %v = tile.load @x[%table, %place] : f32
        %largest = tile.max %v over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1, %kept : f32, index
      }
      tile.store @o[%i] = %t : f32
    }

A load is carried so where

- its result is an integer,
- an index of another load of the loop depends on it,
- and of all that the loop computes or carries, it depends on the key alone.

The loops of mixed tiles that split-loops leaves stay as they are: they have few iterations, and the tile that is loaded
before the first one would cost what it saves.

Requires: tile. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import conjunction, conjuncts
from attndsl.ir.relaxation import computed_in
from attndsl.ir.rewrite import guarded, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith, index


@dataclass(frozen=True)
class PrefetchGathers(ModulePass):
    """Carries the indices of gathers through loops over tiles of keys, loaded one iteration ahead."""

    name = "prefetch-gathers"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [o for o in of_kind(op, tile.LoopOp) if not o.is_mixed and o.outer is None]:
            axis = loop.axis
            if axis is not None and (reads := _gathering(loop, axis)):
                _carry(loop, axis, reads)
        remove_dead(op)


def _gathering(loop: tile.LoopOp, axis: tile.RangeOp) -> list[tile.LoadOp]:
    """The loads of a loop on which indices of other loads depend, and which depend on the key alone."""
    axes = AxesAnalysis()
    loads = [op for op in loop.body.block.ops if isinstance(op, tile.LoadOp)]
    places = computed_in(loop, *(place for load in loads for place in load.indices))
    return [op for op in loads if op in places and axis.result in axes(op.result) and _is_known_ahead(op, loop)]


def _is_known_ahead(load: tile.LoadOp, loop: tile.LoopOp) -> bool:
    """Whether a load gives integers, and depends neither on what the loop carries nor on another load of it."""
    sources = computed_in(loop, *load.operands)
    state = set(loop.body.block.args[1:])
    return (
        load.result.type == index
        and not any(isinstance(op, tile.LoadOp) or op.regions for op in sources)
        and state.isdisjoint(v for op in (load, *sources) for v in op.operands)
    )


def _carry(loop: tile.LoopOp, axis: tile.RangeOp, reads: list[tile.LoadOp]) -> None:
    """Lets each turn of a loop read for the next one, and what stands before the loop for the first."""
    body = loop.body.block
    variable, last = body.args[0], loop.end
    first = _copies(loop, axis, reads, loop.lb, loop)
    after = _copies(loop, axis, reads, insert_before(reads[0], arith.AddiOp(variable, loop.step)), reads[0])
    starts = list(loop.iter_args)
    for read in reads:
        starts.append(first[read.result])
        carried = body.insert_arg(index, len(body.args))
        carried.name_hint = read.result.name_hint
        kept = tile.RenameAxisOp(after[read.result], after[axis.result], first[axis.result])
        last.operands = [*last.operands, insert_before(read, kept)]
        replace(read, [insert_before(read, tile.RenameAxisOp(carried, first[axis.result], axis.result))])
    body_region = loop.detach_region(loop.body)
    carrying = tile.LoopOp(loop.lb, loop.ub, loop.step, starts, body_region, loop.row_start, loop.row_stop)
    carrying.tiles, carrying.stages = loop.tiles, loop.stages
    insert_before(loop, carrying)
    replace(loop, carrying.results[: len(loop.results)])


def _copies(
    loop: tile.LoopOp, axis: tile.RangeOp, reads: list[tile.LoadOp], key: SSAValue, anchor: Operation
) -> dict[SSAValue, SSAValue]:
    """The axis and the reads of the turn that begins at `key`, before `anchor`: 0 where there is no such turn."""
    copies: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: key}
    within = insert_before(anchor, arith.CmpiOp(key, loop.ub, "slt"))
    sources = computed_in(loop, *axis.operands, *(v for read in reads for v in read.operands))
    for op in [op for op in loop.body.block.ops if op in (axis, *sources, *reads)]:
        copy: Operation = op.clone(copies)
        if isinstance(copy, tile.LoadOp):
            copy = guarded(copy, conjunction([*conjuncts(copy.where), within], anchor))
        insert_before(anchor, copy, op.results[0].name_hint)
        copies[op.results[0]] = copy.results[0]
    return copies
