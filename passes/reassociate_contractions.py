"""reassociate-contractions: queries are projected instead of keys, where that is cheaper: (W^T q) . c for q . (W c).

Why: where keys are projected from something smaller that many heads share, the projection can be made of each key, or
of each query and each result instead. The first is cheaper for many queries, the second for many keys: then a key is
read as it is stored. Which of them a call has, only the call knows; so the kernel gets a second form, and both say at
which extents they run.

Before:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @w "input" "f32" ["D", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.axis "r" to %R
      %q = attn.read @q[%i, %d] : f32
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %wc = arith.mulf %w, %c : f32
      %key = attn.sum %wc over %r : f32
      %qk = arith.mulf %q, %key : f32
      %s = attn.sum %qk over %d : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%i] = %t : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "D"]
    spec.tensor @w "input" "f32" ["D", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k_reassociated when "D > 0 and R > 0 and M * R * (D + N + 256) < D * N * (M + R + 256)" {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.axis "r" to %R
      %q = attn.read @q[%i, %d] : f32
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %qw = arith.mulf %q, %w : f32
      %absorbed = attn.sum %qw over %d : f32
      %cw = arith.mulf %c, %absorbed : f32
      %s = attn.sum %cw over %r : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%i] = %t : f32
    }
    attn.kernel @k unless "D > 0 and R > 0 and M * R * (D + N + 256) < D * N * (M + R + 256)" {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.axis "r" to %R
      %q = attn.read @q[%i, %d] : f32
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %wc = arith.mulf %w, %c : f32
      %key = attn.sum %wc over %r : f32
      %qk = arith.mulf %q, %key : f32
      %s = attn.sum %qk over %d : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%i] = %t : f32
    }

Likewise the sum over the keys of p (W c) becomes W (sum of p c).

What is rewritten is a contraction over an axis x, or over the keys, of a product with a contraction over r of which
some factors, A, vary along x and others, B, do not: sum over x of y (sum over r of A B) becomes the sum over r of B
(sum over x of y A). Either A or B varies with the keys, not both. The cost of a form is the number of terms of its
contractions, and of elements that are made in between. A sum of no terms is 0 whatever it would be multiplied with: so
the second form is for extents above 0, and of a row that sees no key it selects 0.

Requires: canonicalize and cse, so that equal products are one. Exactness: reassociates. Idempotent. Source: the
absorbed form of latent attention, DeepSeek-AI, "DeepSeek-V2", 2024; Linformer's, Wang et al., 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from attndsl.checking.symbolic import Expression
from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.exactness import Exactness
from attndsl.ir.extents import extent_text
from attndsl.ir.keys import factors_of, over_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant_op, insert_before, remove_dead, replace, sort_block
from attndsl.ir.terms import Terms, is_fewer, terms_of
from attndsl.ir.traits import Axes
from attndsl.ir.workspaces import room_of
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, StringAttr, arith

ELEMENT = 256
"""As many terms cost about what it costs to write an element of what is made in between, and to read it again: some 5
nanoseconds of a CPU that takes 50 terms in one."""

Outer = attn.SumOp | attn.SoftmaxOp | attn.TotalOp


@dataclass(frozen=True)
class ReassociateContractions(ModulePass):
    """Adds to each kernel that has such contractions the form in which they are made in the other order.

    It runs where that is cheaper; with `always`, wherever it may.
    """

    name = "reassociate-contractions"
    exactness = Exactness.REASSOCIATES

    always: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp) and kernel.when is None and kernel.unless is None:
                _add_form(kernel, op, self.always)


@dataclass(frozen=True)
class _Nest:
    """A contraction, `outer`, of a product of `others` with another contraction, `inner`, whose factors are sorted out.

    `moved` are those that vary along what `outer` is over, `left` those that do not.
    """

    outer: Outer
    inner: attn.SumOp
    others: tuple[SSAValue, ...]
    moved: tuple[SSAValue, ...]
    left: tuple[SSAValue, ...]


def _add_form(kernel: attn.KernelOp, module: ModuleOp, always: bool) -> None:
    nests = list(_nests(kernel))
    conditions = _conditions(kernel, nests, always) if nests else None
    if conditions is None:
        return
    form = kernel
    if conditions:
        form = kernel.clone()
        form.entry = StringAttr(f"{kernel.entry.data}_reassociated")
        form.when = kernel.unless = ConditionAttr(reduce(lambda a, b: ("and", a, b), conditions))
        module.body.block.insert_op_before(form, kernel)
    for nest in list(_nests(form)):
        _reassociate(nest)
    sort_block(form.body.block)
    remove_dead(module)


def _nests(kernel: attn.KernelOp) -> Iterator[_Nest]:
    """The contractions of contractions of which the keys are in one half alone; no contraction is in two."""
    over, axes = over_of(kernel), AxesAnalysis()
    taken: set[SSAValue] = set()
    for op in kernel.body.block.ops:
        if over is None or not isinstance(op, Outer) or op.result in taken:
            continue
        product = factors_of(op.value if isinstance(op, attn.SoftmaxOp) else op.body)
        for inner in product:
            sum_ = inner.owner
            if not isinstance(sum_, attn.SumOp) or inner in taken or not inner.has_one_use():
                continue
            factors = factors_of(sum_.body)
            moved = tuple(f for f in factors if op.over in axes(f))
            left = tuple(f for f in factors if op.over not in axes(f))
            halves = [_union(map(axes, half)) for half in (moved, left)]
            if all(sum_.over in half for half in halves) and sum(over.result in half for half in halves) == 1:
                taken |= {op.result, inner}
                yield _Nest(op, sum_, tuple(f for f in product if f is not inner), moved, left)
                break


def _reassociate(nest: _Nest) -> None:
    """Sums over what the outer contraction is over first."""
    outer, over = nest.outer, nest.inner.over
    first = _over_the_same(outer, _product([*nest.others, *nest.moved], outer))
    summed = insert_before(outer, first)
    result = insert_before(outer, attn.SumOp(_product([*nest.left, summed], outer), over))
    if not isinstance(outer, attn.SumOp):
        result = insert_before(outer, arith.SelectOp(_sees_keys(outer), result, _number(0.0, outer)))
    replace(outer, [result])


def _over_the_same(outer: Outer, body: SSAValue) -> Outer:
    """The contraction, of something else."""
    match outer:
        case attn.SoftmaxOp():
            return attn.SoftmaxOp(outer.score, body, outer.over, outer.where, outer.sink)
        case attn.TotalOp():
            return attn.TotalOp(body, outer.over, outer.where)
    return attn.SumOp(body, outer.over)


def _sees_keys(outer: Outer) -> SSAValue:
    """Whether there is a key that counts for the row."""
    counted = insert_before(outer, _over_the_same(outer, _number(1.0, outer)), "any_key")
    return insert_before(outer, arith.CmpfOp(counted, _number(0.0, outer), "une"))


def _number(value: float, outer: Outer) -> SSAValue:
    return insert_before(outer, constant_op(value, outer.result.type))


def _product(factors: Iterable[SSAValue], outer: Outer) -> SSAValue:
    return reduce(lambda a, b: insert_before(outer, arith.MulfOp(a, b)), factors)


# --- what the forms cost


def _conditions(kernel: attn.KernelOp, nests: list[_Nest], always: bool) -> list[Expression] | None:
    """At which extents the other form may run, and costs less; None where there are none, or no call knows."""
    facts, axes = Facts(kernel.body.block), AxesAnalysis()
    known: dict[SSAValue, Expression] = {}
    for op in kernel.body.block.ops:
        if isinstance(op, attn.IndexOp) and (extent := room_of(op, facts)) is not None:
            known[op.result] = extent
    before, after = Terms(), Terms()
    for nest in nests:
        outer, inner = nest.outer, nest.inner.over
        moved, left, others = (_union(map(axes, group)) for group in (nest.moved, nest.left, nest.others))
        if isinstance(outer, attn.SoftmaxOp):
            others |= axes(outer.score)
        if not moved | left | others <= known.keys():
            return None
        before += terms_of(moved | left, known) + terms_of((moved | left | others) - {inner}, known)
        before += terms_of((moved | left) - {inner}, known, ELEMENT)
        after += terms_of(moved | others, known) + terms_of((moved | left | others) - {outer.over}, known)
        after += terms_of((moved | others) - {outer.over}, known, ELEMENT)
    summed = {v for nest in nests for v in (nest.outer.over, nest.inner.over) if isinstance(v.owner, attn.AxisOp)}
    open_ = sorted({known[v] for v in summed if not isinstance(known[v], int)}, key=extent_text)
    if any(known[v] == 0 for v in summed) or not (always or before - after):
        return None
    return [*(("igt", extent, 0) for extent in open_), *([] if always else [is_fewer(after, before)])]


def _union(axes: Iterable[Axes]) -> Axes:
    return frozenset[SSAValue]().union(*axes)
