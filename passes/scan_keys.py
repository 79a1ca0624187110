"""scan-keys: a first look at what masks read finds where the keys begin and end that a tile of rows may see.

Why: where a mask compares data, the document of a row and that of a key, say, only the data tell which keys a tile of
rows sees. A test of each tile inside the loop would keep Triton from loading ahead. So a loop before it reads the data
alone, many keys a turn, and the loop over keys runs from the first key that a row may see to the last one. There is no
block mask to build or to store.

Before:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @row "input" "i32" ["M"]
    spec.tensor @key "input" "i32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %keys
      %i = tile.range "i" from %i0 to %M size %keys
      %r = tile.load @row[%i] : index
      %none = tile.broadcast %low over (%i) : f32 to f32
      %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %none) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %in = arith.cmpi sgt, %N, %j : index
        %c = tile.load @key[%j] where %in : index
        %seen = arith.cmpi eq, %r, %c : index
        tile.present %seen
        %x = tile.load @x[%j] where %in : f32
        %both = arith.andi %seen, %in : i1
        %x1 = arith.select %both, %x, %low : f32
        %largest = tile.max %x1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

After:

    spec.tensor @x "input" "f32" ["N"]
    spec.tensor @row "input" "i32" ["M"]
    spec.tensor @key "input" "i32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    tile.kernel @k {
      %keys = arith.constant 16 : index
      %zero = arith.constant 0 : index
      %low = arith.constant 0xff800000 : f32
      %N = spec.dim "N"
      %M = spec.dim "M"
      %i0 = tile.program "i" to %M step %keys
      %i = tile.range "i" from %i0 to %M size %keys
      %r = tile.load @row[%i] : index
      %none = tile.broadcast %low over (%i) : f32 to f32
      %least = tile.min %r over %i : index to index
      %most = tile.max %r over %i : index to index
      %most1 = tile.max %r over %i : index to index
      %least1 = tile.min %r over %i : index to index
      %chunk = arith.constant 2048 : index
      %a = tile.broadcast %N over () : index to index
      %b = tile.broadcast %zero over () : index to index
      %d = tile.broadcast %N over () : index to index
      %e = tile.broadcast %N over () : index to index
      %seen_start, %seen_stop, %held_start, %held_stop = tile.loop %j1 = %zero to %N step %chunk
          iter_args(%first = %a, %past = %b, %start = %d, %stop = %e) -> (index, index, index, index) {
        %j = tile.range "j" from %j1 to %N size %chunk
        %true = arith.constant true
        %in = tile.broadcast %true over (%j) : i1 to i1
        %c = tile.load @key[%j] where %in : index
        %above = arith.cmpi sle, %least, %c : index
        %below = arith.cmpi sge, %most, %c : index
        %some = arith.andi %above, %below : i1
        %above1 = arith.cmpi sle, %most1, %c : index
        %below1 = arith.cmpi sge, %least1, %c : index
        %every = arith.andi %above1, %below1 : i1
        %j2 = arith.select %some, %j, %N : index
        %first1 = tile.min %j2 over %j : index to index
        %first2 = arith.minsi %first, %first1 : index
        %one = arith.constant 1 : index
        %j3 = arith.addi %j, %one : index
        %j4 = arith.select %some, %j3, %zero : index
        %past1 = tile.max %j4 over %j : index to index
        %past2 = arith.maxsi %past, %past1 : index
        %j5 = arith.select %every, %j, %N : index
        %start1 = tile.min %j5 over %j : index to index
        %start2 = arith.minsi %start, %start1 : index
        %before = arith.cmpi slt, %j, %start2 : index
        %run = arith.ori %every, %before : i1
        %j6 = arith.select %run, %N, %j : index
        %stop1 = tile.min %j6 over %j : index to index
        %stop2 = arith.minsi %stop, %stop1 : index
        tile.yield %first2, %past2, %start2, %stop2 : index, index, index, index
      }
      %unseen = arith.subi %seen_start, %zero : index
      %zero1 = arith.constant 0 : index
      %unseen1 = arith.maxsi %unseen, %zero1 : index
      %tiles = arith.floordivsi %unseen1, %keys : index
      %skipped = arith.muli %tiles, %keys : index
      %from = arith.addi %zero, %skipped : index
      %to = arith.minsi %N, %seen_stop : index
      %t = tile.loop %j0 = %from to %to step %keys rows from %zero to %N iter_args(%m = %none) -> (f32) {
        %end = arith.addi %j0, %keys : index
        %j = tile.range "j" from %j0 to %end size %keys
        %in = arith.cmpi sgt, %N, %j : index
        %c = tile.load @key[%j] where %in : index
        %seen = arith.cmpi eq, %r, %c : index
        tile.holds %seen over %j from %held_start to %held_stop
        %x = tile.load @x[%j] where %in : f32
        %both = arith.andi %seen, %in : i1
        %x1 = arith.select %both, %x, %low : f32
        %largest = tile.max %x1 over %j : f32 to f32
        %m1 = arith.maximumf %m, %largest : f32
        tile.yield %m1 : f32
      }
      tile.store @o[%i] = %t : f32
    }

A condition is scanned in a form that keys alone decide and that holds wherever it holds for some row of the tile
(`ir/relaxation.py`). A loop stays as it is where that form reads no data, or only data that say where other data are:
the entries of a page table are in range nearly everywhere. Where tiles are of a fixed size, those that are left begin
where they did: aligned, so that what is read along the keys is read in wide pieces. And there the same look finds the
first run of keys at which conditions that read data hold for every row: most tiles of rows lie in one document. In it
split-loops neither tests these conditions nor reads their data.

Requires: tile. Ensures: no tile.present is left. Exactness: reassociates sums, but where tiles are of a fixed size.
Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.exactness import Exactness
from attndsl.ir.hints import hint
from attndsl.ir.keys import conjunction
from attndsl.ir.meaning import predicate
from attndsl.ir.polynomial import Facts
from attndsl.ir.relaxation import Relaxation, computed_in
from attndsl.ir.rewrite import constant_op, index_constant, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import (
    Block,
    Context,
    ModuleOp,
    ModulePass,
    Operation,
    Region,
    SSAValue,
    arith,
    i1,
    index,
)


@dataclass(frozen=True)
class ScanKeys(ModulePass):
    """Narrows loops over keys to those that data let a tile of rows see, `chunk` of them looked at in a turn.

    Each turn waits for memory once: 2048 keys make few turns of a long row, and are 16 for each of 128 threads.
    """

    name = "scan-keys"
    exactness = Exactness.REASSOCIATES

    chunk: int = 2048

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, tile.KernelOp):
                facts = Facts(kernel.body.block)
                said = of_kind(kernel, tile.PresentOp)
                for present in said:
                    _narrow(present, facts, self.chunk)
                    replace(present, [])
                if said:
                    remove_dead(op)


def _narrow(present: tile.PresentOp, facts: Facts, chunk: int) -> None:
    """Narrows the loop that a statement of which keys are present stands in."""
    loop = present.parent_op()
    assert isinstance(loop, tile.LoopOp), "the verifier of tile.present holds that"
    axis = loop.axis
    if axis is None:  # no key counts, and nothing is left of them
        return
    some = Relaxation(loop, axis.result, present, facts)
    may = conjunction([found for condition in present.conditions if (found := some.of(condition)) is not None], present)
    if may is None or not _reads(loop, may):
        return
    low, high = loop.lb, loop.ub
    fixed = axis.stop is not high
    every = Relaxation(loop, axis.result, present, facts, every=True)
    tested = [condition for condition in present.conditions if fixed and _reads(loop, condition)]
    held = {condition: found for condition in tested if (found := every.of(condition)) is not None}
    first, past, *run = _scan(loop, axis, may, conjunction(list(held.values()), present), chunk)
    for condition in held:
        holds = tile.HoldsOp(condition, axis.result, *run)
        holds.location = present.location
        loop.body.block.insert_op_before(holds, present)
    loop.operands[0] = insert_before(loop, arith.AddiOp(low, _skipped(loop, first)), "start") if fixed else first
    loop.operands[1] = insert_before(loop, arith.MinSIOp(high, past), "stop")
    if not fixed:
        axis.operands[1] = loop.ub


def _reads(loop: tile.LoopOp, condition: SSAValue) -> bool:
    """Whether a loop reads data for a condition."""
    return any(isinstance(op, tile.LoadOp) for op in computed_in(loop, condition))


def _skipped(loop: tile.LoopOp, first: SSAValue) -> SSAValue:
    """How many keys the tiles have that lie before the first key."""
    unseen = insert_before(loop, arith.SubiOp(first, loop.lb))
    unseen = insert_before(loop, arith.MaxSIOp(unseen, insert_before(loop, index_constant(0))))
    return insert_before(loop, arith.MuliOp(insert_before(loop, arith.FloorDivSIOp(unseen, loop.step)), loop.step))


def _scan(
    loop: tile.LoopOp, axis: tile.RangeOp, may: SSAValue, every: SSAValue | None, chunk: int
) -> Sequence[SSAValue]:
    """Adds the loop that looks for keys at which `may` holds: gives the first of them, and what follows the last.

    Where there is none, these are where the loop over keys ends, and where it begins. With `every`, it also gives where
    the first run of keys begins at which that holds, and what follows the run; both the end of the loop where there is
    none.
    """
    low, high, step = loop.lb, loop.ub, insert_before(loop, index_constant(chunk))
    ends = {"seen_start": high, "seen_stop": low}
    if every is not None:
        ends |= {"held_start": high, "held_stop": high}
    starts = [insert_before(loop, tile.BroadcastOp(end, [])) for end in ends.values()]
    block = Block(arg_types=[index] * (1 + len(starts)))
    variable, first, past, *run = block.args
    variable.name_hint = loop.body.block.args[0].name_hint
    scan = tile.LoopOp(low, high, step, starts, Region(block))
    insert_before(loop, scan)

    def add(op: Operation, name: str | None = None) -> SSAValue:
        op.location = loop.location
        block.add_op(op)
        op.results[0].name_hint = hint(name)
        return op.results[0]

    key = add(tile.RangeOp(axis.variable.data, variable, high, step), axis.variable.data)
    copies: dict[SSAValue, SSAValue] = {axis.result: key}
    for op in computed_in(loop, may, *([every] if every is not None else [])):
        if _is_before(op, axis, high):
            copies[op.results[0]] = add(tile.BroadcastOp(add(constant_op(True, i1)), [key]))
        else:
            copy = op.clone(copies)
            copy.location = op.location
            block.add_op(copy)

    def least(carried: SSAValue, where: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return add(arith.MinSIOp(carried, add(tile.MinOp(add(arith.SelectOp(where, then, otherwise)), key))))

    found = [least(first, copies[may], key, high)]
    following = add(arith.AddiOp(key, add(index_constant(1))))
    farthest = add(tile.MaxOp(add(arith.SelectOp(copies[may], following, low)), key))
    found.append(add(arith.MaxSIOp(past, farthest)))
    if every is not None:
        found.append(least(run[0], copies[every], key, high))
        before = add(arith.CmpiOp(key, found[-1], "slt"))
        found.append(least(run[1], add(arith.OrIOp(copies[every], before)), high, key))
    end = tile.YieldOp(*found)
    end.location = loop.location
    block.add_op(end)
    for result, name in zip(scan.results, ends, strict=True):
        result.name_hint = name
    return scan.results


def _is_before(op: Operation, axis: tile.RangeOp, high: SSAValue) -> bool:
    """Whether an operation asks if a key comes before the end, where the axis of the scan stops by itself."""
    return isinstance(op, arith.CmpiOp) and predicate(op) == "sgt" and tuple(op.operands) == (high, axis.result)
