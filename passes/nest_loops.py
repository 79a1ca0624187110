"""nest-loops: keys that two indices count are walked by a loop in a loop, the inner one with a range of its own.

Why: the keys of `over t in G, i in M` are one variable, of which t and i are quotient and remainder. What a mask says
of i is no interval of that, and where a tile of keys lies in memory is found key by key. In a loop over i within one
over t the mask is a range again, a tile's keys are neighbours, and what all t share is read once.

Before:

    spec.tensor @x "input" "f32" ["G", "M"]
    spec.tensor @o "output" "f32" ["N"]
    attn.kernel @k {
      %N = spec.dim "N"
      %G = spec.dim "G"
      %M = spec.dim "M"
      %j = attn.each "j" to %N
      %both = arith.muli %M, %G : index
      %t_i = attn.over "t_i" to %both
      %t_of = arith.floordivsi %t_i, %M : index
      %t = spec.mod %t_of, %G
      %i = spec.mod %t_i, %M
      %v = attn.read @x[%t, %i] : f32
      %seen = arith.cmpi sle, %j, %i : index
      %s = attn.total %v over %t_i where %seen : f32
      attn.write @o[%j] = %s : f32
    }

After:

    spec.tensor @x "input" "f32" ["G", "M"]
    spec.tensor @o "output" "f32" ["N"]
    attn.kernel @k {
      %N = spec.dim "N"
      %G = spec.dim "G"
      %M = spec.dim "M"
      %j = attn.each "j" to %N
      %t = attn.outer "t" to %G
      %i = attn.over "i" to %M within %t
      %v = attn.read @x[%t, %i] : f32
      %seen = arith.cmpi sle, %j, %i : index
      %s = attn.total %v over %i where %seen : f32
      attn.write @o[%j] = %s : f32
    }

The inner variable is the last index, the outer one all others together. They stay one where the inner one has few
values, which would fill no tile; where a mask rests on the outer one, and may cut the range of both at once; where the
outer one says where it is read which keys are meant, as a page does, whose keys share tiles with those of others; and
where a key's position among all of them is asked for.

Requires: simplify-indices. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attndsl.ir import attn, spec
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import Reduction, common_conjuncts, made_of, over_of, reductions_of
from attndsl.ir.materialise import materialise
from attndsl.ir.polynomial import Facts, Polynomial, number
from attndsl.ir.rewrite import constant, insert_before, replace, sort_block
from attndsl.ir.sizes import known_limit
from attndsl.ir.workspaces import fresh
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class NestLoops(ModulePass):
    """Makes two loops of the keys that two indices count, where the inner one may have at least `least` values."""

    name = "nest-loops"
    exactness = Exactness.REASSOCIATES

    least: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp) and _digits(kernel, self.least) is not None:
                nested = _copy(kernel)
                op.body.block.insert_op_before(nested, kernel)
                found = _digits(nested, self.least)
                assert found is not None
                left = kernel if _pays(nested, _part(found)) else nested
                op.body.block.erase_op(left)


class _Digits(NamedTuple):
    """A variable of keys that is used by its digits alone: how often the inner one runs, and its extent.

    `inner` are the uses of that, `outer` those of all others, with what is left to divide the outer variable by.
    """

    over: attn.OverOp
    turns: Polynomial
    extent: SSAValue
    inner: tuple[Operation, ...]
    outer: tuple[tuple[Operation, Polynomial], ...]


def _copy(kernel: attn.KernelOp) -> attn.KernelOp:
    copy = kernel.clone()
    for old, new in zip(kernel.walk(), copy.walk(), strict=True):
        new.location = old.location
    return copy


def _digits(kernel: attn.KernelOp, least: int) -> _Digits | None:
    """What keys are used by, if that is two digits or more; None elsewhere, and where the last has too few values."""
    over, facts = over_of(kernel), Facts(kernel.body.block)
    if over is None or over.start is not None or over.bound is not None:
        return None
    uses = [use.operation for use in over.result.uses]
    extent = next((op.rhs for op in uses if isinstance(op, spec.ModOp) and op.lhs is over.result), None)
    known = None if extent is None else constant(extent)
    if extent is None or (known is not None and known < least):
        return None
    turns, rest = facts.divide(facts.of(over.extent), extent)
    axes = AxesAnalysis()
    if rest or any(axes(factor) for factors in turns for factor in factors):
        return None
    if not facts.nonnegative(turns):  # else two negative numbers would make a positive one
        return None
    inner, outer = list[Operation](), list[tuple[Operation, Polynomial]]()
    for op in dict.fromkeys(uses):
        if isinstance(op, spec.ModOp) and op.lhs is over.result and op.rhs is extent:
            inner.append(op)
            continue
        if isinstance(op, arith.FloorDivSIOp) and op.lhs is over.result:
            size, rest = facts.divide(facts.of(op.rhs), extent)
            if not rest:
                outer.append((op, size))
                continue
        placed = op.place if isinstance(op, attn.ArgMaxOp) else None
        if not isinstance(op, Reduction) or placed is over.result or isinstance(op, attn.ScatterOp):
            return None
    return _Digits(over, turns, extent, tuple(inner), tuple(outer))


def _part(found: _Digits) -> SSAValue:
    """Gives the digits variables of their own; gives the outer one."""
    over = found.over
    block = over.parent
    assert block is not None
    taken = {op.variable.data for op in block.ops if isinstance(op, attn.IndexOp) and op is not over}
    whole = over.variable.data
    inner = found.inner[0].results[0].name_hint or whole
    others = whole.removesuffix(f"_{inner}")
    name = fresh(others if others != whole else f"{whole}_outer", {*taken, inner})
    outer = insert_before(over, attn.OuterOp(name, materialise(found.turns, over)), name)
    name = fresh(inner, {*taken, name})
    limit = known_limit(found.extent)
    bound = None if limit is found.extent else limit
    key = insert_before(over, attn.OverOp(name, found.extent, bound, within=outer), name)
    for op in found.inner:
        replace(op, [key])
    for op, size in found.outer:
        digit = outer if size == number(1) else insert_before(op, arith.FloorDivSIOp(outer, materialise(size, op)))
        for rest in [use.operation for use in op.results[0].uses] if digit is outer else []:
            if isinstance(rest, spec.ModOp) and Facts(block).of(rest.rhs) == found.turns:
                replace(rest, [outer])  # it is below that, even where that may be 0
        replace(op, [digit])
    replace(over, [key])
    sort_block(block)
    return outer


def _pays(kernel: attn.KernelOp, outer: SSAValue) -> bool:
    """Whether a variable says neither which keys count, nor where it is said which are read."""
    axes, facts = AxesAnalysis(), Facts(kernel.body.block)
    reads = [op for op in kernel.body.block.ops if isinstance(op, attn.ReadOp)]
    places = made_of(place for read in reads for place in read.indices)
    if any(read in places and outer in axes(read.result) for read in reads):
        return False
    telling = [c for c in common_conjuncts(reductions_of(kernel)) if outer in axes(c)]
    return all(_cuts_nothing(condition, facts) for condition in telling)


def _cuts_nothing(condition: SSAValue, facts: Facts) -> bool:
    """Whether a condition is known to hold, as those do that guard a read, or compares floats, which bound no keys."""
    op = condition.owner
    if isinstance(op, arith.AndIOp | arith.OrIOp):
        return (all if isinstance(op, arith.AndIOp) else any)(_cuts_nothing(part, facts) for part in op.operands)
    if isinstance(op, arith.CmpfOp):
        return True
    slack = facts.slack(op) if isinstance(op, arith.CmpiOp) else None
    return slack is not None and facts.nonnegative(slack)
