"""materialise: a contraction that each tile would make again gets a kernel of its own, which leaves it in a workspace.

Why: keys that are projected from something else are the same for every query, and a kernel that makes them where it
needs them makes them for each tile of queries. So do matrices that differ from row to row, as a projection that each
head has of its own: rows of several heads share a tile where their keys are the same, and multiply with no one matrix.
Made before, in tiles that suit it, or after, each is one matrix product.

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
    spec.tensor @key "workspace" "f32" ["N", "D"]
    attn.kernel @k_key {
      %N = spec.dim "N"
      %D = spec.dim "D"
      %R = spec.dim "R"
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %r = attn.axis "r" to %R
      %w = attn.read @w[%d, %r] : f32
      %c = attn.read @c[%j, %r] : f32
      %wc = arith.mulf %w, %c : f32
      %key = attn.sum %wc over %r : f32
      attn.write @key[%j, %d] = %key : f32
    }
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%i, %d] : f32
      %key = attn.read @key[%j, %d] : f32
      %qk = arith.mulf %q, %key : f32
      %s = attn.sum %qk over %d : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%i] = %t : f32
    }

Of keys, it is a contraction of two factors or more that gives each key a vector, the same for all rows of a tile;
unless a mask bounds the keys of a row from below, for then most of them may be seen by no row. Of rows, one with a
matrix that differs between rows of a tile; where it rests on what is folded over the keys, all that is made of that
moves to a kernel behind. A workspace is as large as a launch knows that it has to be; what a launch does not know stays
where it is.

Requires: canonicalize and cse; runs before bound-loops, since it makes all keys that any row may see. Exactness:
bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.extent_values import guard_reads
from attndsl.ir.keys import Reduction, common_conjuncts, factors_of, made_of, over_of, reductions_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import insert_before, remove_dead, replace, sort_block
from attndsl.ir.traits import Axes
from attndsl.ir.workspaces import Workspace, limit_of, rooms_of, variables_of
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, StringAttr, arith
from attndsl.passes.pack_rows import variables_of_tiles


@dataclass(frozen=True)
class Materialise(ModulePass):
    """Moves contractions that tiles would repeat, or that are products only by themselves, to kernels of their own."""

    name = "materialise"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        before = len(op.body.block.ops)
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp) and over_of(kernel) is not None:
                _make_before(kernel, op, _of_keys(kernel))
                _make_before(kernel, op, _of_rows(kernel, folded=False))
                _make_behind(kernel, op, _of_rows(kernel, folded=True))
        if len(op.body.block.ops) > before:
            remove_dead(op)


# --- which contractions


def _of_keys(kernel: attn.KernelOp) -> list[attn.SumOp]:
    """The contractions that give each key a vector, which several rows share."""
    over, axes = over_of(kernel), AxesAnalysis()
    assert over is not None
    found = [
        op
        for op in _contractions(kernel, axes)
        if over.result in axes(op.result)
        if any(isinstance(variable.owner, attn.AxisOp) for variable in axes(op.result))
        if not _rests_on_keys(op)
    ]
    if not found or limit_of(over) is None or over.start is not None or _is_bounded_below(kernel, over):
        return []
    tiled = variables_of_tiles(kernel)
    return [op for op in found if tiled and not tiled & axes(op.result)]


def _is_bounded_below(kernel: attn.KernelOp, over: attn.OverOp) -> bool:
    """Whether a mask leaves out the first keys of a row."""
    facts = Facts(kernel.body.block)
    for condition in common_conjuncts(reductions_of(kernel)):
        op = condition.owner
        slack = facts.slack(op, free=True) if isinstance(op, arith.CmpiOp) else None
        if slack is not None and slack.get((over.result,), 0) > 0:
            return True
    return False


def _of_rows(kernel: attn.KernelOp, folded: bool) -> list[attn.SumOp]:
    """The contractions with a matrix that differs between the rows of a tile; whether they rest on what is `folded`."""
    over, axes = over_of(kernel), AxesAnalysis()
    assert over is not None
    matrices = {op: _matrices(op, axes) for op in _contractions(kernel, axes) if over.result not in axes(op.result)}
    found = [op for op, factors in matrices.items() if factors and _rests_on_keys(op) == folded]
    if not found:
        return []
    tiled = variables_of_tiles(kernel)
    found = [op for op in found if any(axes(factor) & tiled for factor in matrices[op])]
    in_keys = made_of(value for reduction in reductions_of(kernel) for value in reduction.operands)
    return [op for op in found if not folded or op not in in_keys]


def _contractions(kernel: attn.KernelOp, axes: AxesAnalysis) -> list[attn.SumOp]:
    """The sums of products, two factors of which vary along the axis."""
    sums = [op for op in kernel.body.block.ops if isinstance(op, attn.SumOp)]
    return [op for op in sums if sum(op.over in axes(factor) for factor in factors_of(op.body)) > 1]


def _matrices(op: attn.SumOp, axes: AxesAnalysis) -> list[SSAValue]:
    """The factors of a contraction that vary along its axis and another one."""
    return [
        factor
        for factor in factors_of(op.body)
        if op.over in axes(factor)
        if sum(isinstance(variable.owner, attn.AxisOp) for variable in axes(factor)) > 1
    ]


def _rests_on_keys(op: Operation) -> bool:
    return any(isinstance(each, Reduction) for each in made_of(op.operands))


# --- kernels of their own


def _make_before(kernel: attn.KernelOp, module: ModuleOp, sums: Sequence[attn.SumOp]) -> None:
    """A kernel for each set of rows and keys that contractions are made of; this one reads what they give."""
    axes = AxesAnalysis()
    groups: dict[Axes, list[attn.SumOp]] = {}
    for op in sums:
        groups.setdefault(frozenset(v for v in axes(op.result) if not isinstance(v.owner, attn.AxisOp)), []).append(op)
    for placed, members in groups.items():
        made = {op: Workspace.of(op.result, kernel, module, axes) for op in members}
        found = {op: workspace for op, workspace in made.items() if workspace is not None}
        if not found:
            continue
        step, copied = _copy(kernel, next(iter(found.values())).name)
        for write in [op for op in step.body.block.ops if isinstance(op, attn.WriteOp)]:
            step.body.block.erase_op(write)
        keys = any(isinstance(variable.owner, attn.OverOp) for variable in placed)
        apart = placed if keys else _differing(members, axes)
        farther = _arrange(variables_of(members[0].result, kernel, axes), placed, apart, axes, copied)
        guard_reads(step.body.block, farther, kernel)
        for op, workspace in found.items():
            step.body.block.add_op(workspace.write(copied[op.result], copied))
        sort_block(step.body.block)
        module.body.block.insert_op_before(step, kernel)
        for op, workspace in found.items():
            replace(op, [insert_before(op, workspace.read())])


def _make_behind(kernel: attn.KernelOp, module: ModuleOp, sums: Sequence[attn.SumOp]) -> None:
    """A kernel for all that is made of contractions; it reads what this one has folded over its keys."""
    block, axes = kernel.body.block, AxesAnalysis()
    writes = [op for op in block.ops if isinstance(op, attn.WriteOp)]
    moved = [op for op in writes if not made_of(op.operands).isdisjoint(sums)]
    needed = made_of(value for op in moved for value in op.operands)
    folded = [op.results[0] for op in reductions_of(kernel) if op in needed]
    pairs = any(len(op.results) > 1 for op in reductions_of(kernel) if op in needed)
    if not moved or pairs or any(room is None for value in folded for room in rooms_of(value, kernel, axes)):
        return
    step, copied = _copy(kernel, "results")
    for op, copy in zip(list(block.ops), list(step.body.block.ops), strict=True):
        if op in writes and op not in moved:
            step.body.block.erase_op(copy)
    rows = [op for op in block.ops if isinstance(op, attn.EachOp)]
    _arrange(rows, frozenset(op.result for op in rows), _differing(sums, axes), axes, copied)
    for value in folded:
        workspace = Workspace.of(value, kernel, module, axes)
        assert workspace is not None
        reduction = copied[value].owner
        assert isinstance(reduction, Operation)
        replace(reduction, [insert_before(reduction, workspace.read(copied))])
        block.add_op(workspace.write(value))
    for op in moved:
        block.erase_op(op)
    sort_block(step.body.block)
    module.body.block.insert_op_after(step, kernel)


def _copy(kernel: attn.KernelOp, name: str) -> tuple[attn.KernelOp, dict[SSAValue, SSAValue]]:
    """A copy of a kernel, and what each value has become in it."""
    copied: dict[SSAValue, SSAValue] = {}
    step = kernel.clone(copied)
    step.entry = StringAttr(f"{kernel.entry.data}_{name}")
    step.schedule = None  # what a spec pins is for tiles of keys
    return step, copied


def _arrange(
    variables: Iterable[attn.IndexOp], placed: Axes, apart: Axes, axes: AxesAnalysis, copied: dict[SSAValue, SSAValue]
) -> list[SSAValue]:
    """Lets variables tell apart the rows of a copy that is about no others than `placed`.

    Keys are rows. A variable goes as far as it does, or, where that differs along what is no longer there, as far as
    it may: gives these. Of those `apart` the rows of a tile have the same value.
    """
    farther: list[SSAValue] = []
    for variable in variables:
        if isinstance(variable, attn.AxisOp):
            continue
        kind = attn.GridOp if variable.result in apart and not isinstance(variable, attn.OverOp) else attn.EachOp
        extent, bound = variable.extent, variable.bound
        if not axes(extent) <= placed:
            extent, bound = limit_of(variable) or extent, None
        if kind is type(variable) and extent is variable.extent:
            continue
        old = copied[variable.result].owner
        assert isinstance(old, attn.IndexOp)
        new = kind(variable.variable.data, copied[extent], copied[bound] if bound is not None else None)
        copied[variable.result] = insert_before(old, new, variable.result.name_hint)
        replace(old, [new.result])
        if extent is not variable.extent:
            farther.append(new.result)
    return farther


def _differing(sums: Iterable[attn.SumOp], axes: AxesAnalysis) -> Axes:
    """What the matrices of contractions differ along."""
    return frozenset[SSAValue]().union(*(axes(factor) for op in sums for factor in _matrices(op, axes)))
