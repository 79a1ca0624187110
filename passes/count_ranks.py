"""count-ranks: the order of keys becomes counts: the rank of a key is how many others come before it.

Why: a target that has no sort of its own has sums. Each key is a row that counts the others which beat it, the keys in
tiles as ever, and each place of the order is a row that looks for the key of that rank. It takes as many comparisons as
there are pairs of keys: little where rows are few, as in decoding. Rows that have keys of their own share no tile.

Before:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @seen "input" "bool" ["N"]
    spec.tensor @o "output" "i32" ["M", "K"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %K = spec.dim "K"
      %i = attn.each "i" to %M
      %n = attn.axis "n" to %N
      %t = attn.axis "t" to %K
      %s = attn.read @s[%i, %n] : f32
      %seen = attn.read @seen[%n] : i1
      %p = attn.top %s where %seen over %n at %t : f32
      attn.write @o[%i, %t] = %p : index
    }

After:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @seen "input" "bool" ["N"]
    spec.tensor @o "output" "i32" ["M", "K"]
    spec.tensor @k_ranks "workspace" "f32" ["M", "N"]
    attn.kernel @k_ranks {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.grid "i" to %M
      %n = attn.each "n" to %N
      %other = attn.over "other" to %N
      %s = attn.read @s[%i, %n] : f32
      %seen = attn.read @seen[%n] : i1
      %s1 = attn.read @s[%i, %other] : f32
      %seen1 = attn.read @seen[%other] : i1
      %below = arith.cmpf ole, %s1, %s : f32
      %true = arith.constant true
      %above = arith.xori %below, %true : i1
      %equal = arith.cmpf oeq, %s1, %s : f32
      %first = arith.cmpi slt, %other, %n : index
      %tied = arith.andi %equal, %first : i1
      %either = arith.ori %above, %tied : i1
      %beats = arith.andi %seen1, %either : i1
      %one = arith.constant 1.0 : f32
      %rank = attn.total %one over %other where %beats : f32
      %number = arith.cmpf oeq, %s, %s : f32
      %counts = arith.andi %seen, %number : i1
      %none = arith.constant -1.0 : f32
      %ranked = arith.select %counts, %rank, %none : f32
      attn.write @k_ranks[%i, %n] = %ranked : f32
    }
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %K = spec.dim "K"
      %i = attn.grid "i" to %M
      %n = attn.over "n" to %N
      %t = attn.each "t" to %K
      %rank = attn.read @k_ranks[%i, %n] : f32
      %place = spec.to_float %t : f32
      %here = arith.cmpf oeq, %rank, %place : f32
      %zero = arith.constant 0.0 : f32
      %any, %position = attn.argmax %zero, %n over %n where %here : f32
      %found = arith.cmpi slt, %position, %N : index
      %absent = arith.constant -1 : index
      %p = arith.select %found, %position, %absent : index
      attn.write @o[%i, %t] = %p : index
    }

Requires: a kernel that ranks does nothing else, and reads the scores from where each row has its own, as one is built.
A rank is counted in the type of the scores: in f32 a row has 2^24 keys at most. Ensures: nothing is ranked. Exactness:
bit-exact. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import made_of
from attndsl.ir.rewrite import constant_op, index_constant, insert_before, remove_dead, replace
from attndsl.ir.statements import of_kind
from attndsl.ir.workspaces import ELEMENTS, fresh, symbols_of
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, StringAttr, arith, i1


@dataclass(frozen=True)
class CountRanks(ModulePass):
    """Puts a kernel that counts before each one that ranks."""

    name = "count-ranks"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = of_kind(op, attn.TopOp)
        for top in found:
            kernel = top.parent_op()
            assert isinstance(kernel, attn.KernelOp), "what ranks stands in a kernel"
            for each in [each for each in kernel.body.block.ops if isinstance(each, attn.EachOp)]:
                row = attn.GridOp(each.variable.data, each.extent, each.bound)
                replace(each, [insert_before(each, row, each.result.name_hint)])
            _find(top, _count(top, kernel, op))
        if found:
            remove_dead(op)


def _count(ranked: attn.TopOp, kernel: attn.KernelOp, module: ModuleOp) -> str:
    """A tensor, which a kernel before this one writes, of ranks: as the scores lie, -1 for what has no place."""
    copied: dict[SSAValue, SSAValue] = {}
    step = kernel.clone(copied)
    step.entry = StringAttr(fresh(f"{kernel.entry.data}_ranks", symbols_of(module)))
    module.body.block.insert_op_before(step, kernel)
    top, axis = copied[ranked.result].owner, copied[ranked.over].owner
    assert isinstance(top, attn.TopOp) and isinstance(axis, attn.AxisOp)
    for write in [op for op in step.body.block.ops if isinstance(op, attn.WriteOp)]:
        step.body.block.erase_op(write)
    key = insert_before(axis, attn.EachOp(axis.variable.data, axis.extent), axis.result.name_hint)
    other = insert_before(axis, attn.OverOp("other", axis.extent), "other")
    replace(axis, [key])
    score, present = top.score, top.present
    other_score, other_present = _of(key, other, top)

    def add(op: Operation, name: str | None = None) -> SSAValue:
        return insert_before(top, op, name)

    below = add(arith.CmpfOp(other_score, score, "ole"))  # false of NaN, which beats all
    above = add(arith.XOrIOp(below, add(constant_op(True, i1))))
    equal, first = add(arith.CmpfOp(other_score, score, "oeq")), add(arith.CmpiOp(other, key, "slt"))
    beats = add(arith.OrIOp(above, add(arith.AndIOp(equal, first))))
    counted = add(arith.AndIOp(other_present, beats))
    rank = add(attn.TotalOp(add(constant_op(1.0, score.type)), other, counted), "rank")
    counts = add(arith.AndIOp(present, add(arith.CmpfOp(score, score, "oeq"))))
    placed = add(arith.SelectOp(counts, rank, add(constant_op(-1.0, score.type))), "ranked")
    read = _read(top)
    tensor = spec.enclosing_tensor(step, read.tensor.string_value())
    left = spec.TensorOp(step.entry.data, "workspace", ELEMENTS[score.type], tensor.shape)
    left.location = top.location
    module.body.block.insert_op_before(left, step)
    write = attn.WriteOp(step.entry.data, read.indices, placed, None)
    write.location = top.location
    step.body.block.insert_op_before(write, top)
    step.body.block.erase_op(top)
    return step.entry.data


def _read(top: attn.TopOp) -> attn.ReadOp:
    """The read of the scores, in which each row has elements of its own."""
    read = top.score.owner
    assert isinstance(read, attn.ReadOp), "scores are read"
    axes = AxesAnalysis()
    assert axes(top.present) <= axes(top.score), "rows that share scores share keys"
    return read


def _of(key: SSAValue, other: SSAValue, top: attn.TopOp) -> tuple[SSAValue, SSAValue]:
    """The score of another key than `key`, and whether that is present."""
    axes, copies = AxesAnalysis(), {key: other}
    block = top.parent
    assert block is not None
    needed = made_of((top.score, top.present))
    for op in [op for op in block.ops if op in needed and op.results[0] is not key]:
        if key in axes(op.results[0]):
            copies[op.results[0]] = insert_before(top, op.clone(copies), op.results[0].name_hint)
    return copies.get(top.score, top.score), copies.get(top.present, top.present)


def _find(top: attn.TopOp, ranks: str) -> None:
    """Lets places be rows that look for the key which has their rank."""
    at, axis = top.at.owner, top.over.owner
    assert isinstance(at, attn.AxisOp) and isinstance(axis, attn.AxisOp)
    place = insert_before(at, attn.EachOp(at.variable.data, at.extent), at.result.name_hint)
    replace(at, [place])
    key = insert_before(axis, attn.OverOp(axis.variable.data, axis.extent), axis.result.name_hint)

    def add(op: Operation, name: str | None = None) -> SSAValue:
        return insert_before(top, op, name)

    indices = [key if index is axis.result else index for index in _read(top).indices]
    rank = add(attn.ReadOp(ranks, indices, None, top.score.type), "rank")
    equal = add(arith.CmpfOp(rank, add(spec.ToFloatOp(place, rank.type)), "oeq"))
    found = attn.ArgMaxOp(add(constant_op(0.0, rank.type)), key, key, equal)
    add(found)
    any_ = add(arith.CmpiOp(found.position, axis.extent, "slt"))
    replace(top, [add(arith.SelectOp(any_, found.position, add(index_constant(-1))))])
