"""split-reduction: a kernel gets a second form, which folds splits of the keys side by side and merges them.

Why: a program folds all keys of its rows. In decoding there are few rows and many keys: most of a GPU idles. What a
reduction folds is a monoid, so that the keys can be cut anywhere, the states of the splits be computed side by side,
kept in workspaces, and merged. How many splits pay depends on extents and on the device: each launch chooses.

Before:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.row "i" to %M
      %j = attn.over "j" to %N
      %x = attn.read @s[%i, %j] : f32
      %m, %l = attn.stream %x, () over %j : f32, f32, ()
      %log = math.log2 %l : f32
      %lse = arith.addf %m, %log : f32
      attn.write @o[%i] = %lse : f32
    }

After:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @o "output" "f32" ["M"]
    spec.tensor @k_m "workspace" "f32" ["M", "choice(SPLITS)"]
    spec.tensor @k_l "workspace" "f32" ["M", "choice(SPLITS)"]
    attn.kernel @k form "whole" {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.row "i" to %M
      %j = attn.over "j" to %N
      %x = attn.read @s[%i, %j] : f32
      %m, %l = attn.stream %x, () over %j : f32, f32, ()
      %log = math.log2 %l : f32
      %lse = arith.addf %m, %log : f32
      attn.write @o[%i] = %lse : f32
    }
    attn.kernel @k_split form "split" {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.row "i" to %M
      %SPLITS = spec.choice "SPLITS" up to %N
      %split = attn.grid "split" to %SPLITS
      %j = attn.over "j" to %N split %split of %SPLITS
      %x = attn.read @s[%i, %j] : f32
      %m, %l = attn.stream %x, () over %j : f32, f32, ()
      attn.write @k_m[%i, %split] = %m : f32
      attn.write @k_l[%i, %split] = %l : f32
    }
    attn.kernel @k_merge form "split" {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.grid "i" to %M
      %SPLITS = spec.choice "SPLITS" up to %N
      %split = attn.over "split" to %SPLITS
      %m = attn.read @k_m[%i, %split] : f32
      %l = attn.read @k_l[%i, %split] : f32
      %merged, %t, %total = attn.stream %m, (%l) over %split : f32, f32, (f32)
      %log = math.log2 %total : f32
      %lse = arith.addf %merged, %log : f32
      attn.write @o[%i] = %lse : f32
    }

On a CPU nothing is launched. With `splits` their number is that, and a condition on extents takes the place of forms:
the same call has the same bits, whatever shares its programs. There all that is merged are rows of tiles, but where
data tell how many rows there are, or where these meet. Heads that lie side by side behind each key, as in pages, are
cut if they have few rows each, and many keys together: they are computed together, so that threads share splits. A
kernel that runs only `when` something else holds is cut where both do.

Merging streams is a stream: over the splits, of their maxima as scores and of their sums as values. What a spec pins
with `schedule { split_k = 1 }` stays whole, and where it pins more only the split form is made. A kernel stays as it
is where a reduction rests on another one, or where a launch does not know how large the workspaces would be.

Requires: pack-rows, stream-softmax. Exactness: reassociates sums. Idempotent. Source: Milakov and Gimelshein, "Online
normalizer calculation for softmax", 2018; Dao, Haziza, Massa and Sizov, "Flash-Decoding for long-context inference",
2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from attndsl.checking.symbolic import Expression
from attndsl.choices import SPLITS
from attndsl.ir import attn, spec
from attndsl.ir.analyses.beside import FEW_ROWS, beside
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.exactness import Exactness
from attndsl.ir.forms import join
from attndsl.ir.keys import folded_in, levels, over_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import index_constant, insert_before, remove_dead, replace, sort_block
from attndsl.ir.statements import of_kind
from attndsl.ir.workspaces import ELEMENTS, Workspace, fresh, limit_of, room_of, rooms_of, symbols_of, variables_of
from attndsl.ir.xdsl import (
    Context,
    IntegerAttr,
    ModuleOp,
    ModulePass,
    Operation,
    SSAValue,
    StringAttr,
)

Values = dict[SSAValue, SSAValue]


@dataclass(frozen=True)
class SplitReduction(ModulePass):
    """Adds to each kernel whose reductions stand side by side one that folds splits, and one that merges them.

    A launch chooses how many splits there are, and so the form. With `splits` there are so many, and extents decide:
    calls are cut that have fewer programs than that, of `rows` rows each, and at least so many `keys`.
    """

    name = "split-reduction"
    exactness = Exactness.REASSOCIATES

    splits: int = 0
    rows: int = 128
    keys: int = 4096

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.body.block.ops):
            if isinstance(kernel, attn.KernelOp):
                self.split(kernel, op)
        remove_dead(op)

    def split(self, kernel: attn.KernelOp, module: ModuleOp) -> None:
        """Adds the forms of one kernel."""
        if not self.splits:
            _add_splits(kernel, module, _pinned(kernel), None)
        elif _pinned(kernel) is None and (few := _has_few_programs(kernel, self)) is not None:
            _add_splits(kernel, module, self.splits, few)


def _has_few_programs(kernel: attn.KernelOp, given: SplitReduction) -> ConditionAttr | None:
    """At which calls a kernel has many keys and few programs; None where it has many at nearly all, or none knows.

    Where two variables tell programs apart, as a batch and heads do, there are many. Those that read keys beside each
    other are computed together, where their rows are few, and count as one.
    """
    over, facts = over_of(kernel), Facts(kernel.body.block)
    if over is None or kernel.unless is not None:
        return None
    grid = [op for op in kernel.body.block.ops if isinstance(op, attn.GridOp)]
    rows = [op for op in kernel.body.block.ops if isinstance(op, attn.RowOp)]
    together = _beside(grid, rows, over)
    grid = [op for op in grid if op not in together]
    batches, heights, heads = ([room_of(op, facts) for op in each] for each in (grid, rows, together))
    keys, height, batch, number = room_of(over, facts), _product(heights), _product(batches), _product(heads)
    if len(grid) > 1 or keys is None or height is None or batch is None or number is None:
        return None
    if not together:
        tiles: Expression = ("idiv", ("iadd", height, given.rows - 1), given.rows)
        programs = tiles if batch == 1 else ("imul", batch, tiles)
        return ConditionAttr(("and", ("ilt", programs, given.splits), ("ige", keys, given.keys)))
    if isinstance(height, int) and height > FEW_ROWS:
        return None
    conditions: list[Expression] = [("ige", keys, given.keys // 2)]
    if number != 1:  # there is as much to read as pays for a merge
        conditions.append(("ige", ("imul", number, keys), 4 * given.keys))
    if batch != 1:
        conditions.append(("ilt", batch, given.splits))
    if not isinstance(height, int):
        conditions.append(("ile", height, FEW_ROWS))
    return ConditionAttr(reduce(lambda a, b: ("and", a, b), conditions))


def _beside(grid: Sequence[attn.GridOp], rows: Sequence[attn.RowOp], over: attn.OverOp) -> list[attn.GridOp]:
    """The variables of programs that are computed together: they read keys beside each other, and end none of a row.

    Without rows nothing multiplies matrices, and programs stay apart.
    """
    axes, kernel = AxesAnalysis(), over.parent_op()
    if not rows or kernel is None:
        return []
    reads = (op.indices for op in of_kind(kernel, attn.ReadOp))
    found = beside([op.result for op in grid], reads, lambda index: over.result in axes(index))
    ends = [over.extent, *(() if over.start is None else (over.start,)), *(op.extent for op in rows)]
    ending = frozenset[SSAValue]().union(*map(axes, ends))
    return [op for op in grid if op.result in found and op.result not in ending]


def _product(extents: Sequence[Expression | None]) -> Expression | None:
    """The product of extents, None where one of them is unknown."""
    product: Expression = 1
    for extent in extents:
        if extent is None:
            return None
        if extent != 1:
            product = extent if product == 1 else ("imul", product, extent)
    return product


def _add_splits(kernel: attn.KernelOp, module: ModuleOp, splits: int | None, when: ConditionAttr | None) -> None:
    """Adds the kernels of the split form: that of launches that choose it, or of calls of which something holds."""
    if kernel.form is not None or kernel.instead is not None:
        return
    if splits == 1 or _is_step(kernel, module) or len(levels(kernel)) != 1:
        return
    over = over_of(kernel)
    if over is None or limit_of(over) is None or of_kind(kernel, attn.ScatterOp):
        return
    if (workspaces := _workspaces(kernel, over, module, splits)) is None:
        return
    for workspace in workspaces.values():
        module.body.block.insert_op_before(workspace.tensor, kernel)
    packed = when is not None
    steps = [_fold_split(kernel, over, workspaces, splits), _merge(kernel, over, workspaces, splits, packed)]
    join(kernel, steps)
    if when is not None:
        module.body.block.insert_ops_before(steps, kernel)
        for op in steps:
            op.when = when if kernel.when is None else ConditionAttr(("and", kernel.when.data, when.data))
        kernel.unless = when
        return
    module.body.block.insert_ops_after(steps, kernel)
    if splits is not None:
        steps[-1].entry = kernel.entry  # it takes the kernel's place
        module.body.block.erase_op(kernel)
        return
    for op, form in zip((kernel, *steps), ("whole", "split", "split"), strict=True):
        op.form = StringAttr(form)


def _pinned(kernel: attn.KernelOp) -> int | None:
    """The number of splits that the spec pins."""
    value = kernel.schedule.data.get("split_k") if kernel.schedule is not None else None
    return value.value.data if isinstance(value, IntegerAttr) else None


def _is_step(kernel: attn.KernelOp, module: ModuleOp) -> bool:
    """Whether a kernel is one of those that this pass makes: it folds a split, or reads what such a one left."""
    if _folds_split(kernel):
        return True
    left = {name for op in module.body.block.ops if _folds_split(op) for name in _tensors(op, attn.WriteOp)}
    return not left.isdisjoint(_tensors(kernel, attn.ReadOp))


def _folds_split(op: Operation) -> bool:
    over = over_of(op) if isinstance(op, attn.KernelOp) else None
    return over is not None and over.split is not None


def _tensors(kernel: Operation, kind: type[attn.ReadOp | attn.WriteOp]) -> set[str]:
    """The tensors that a kernel reads, or writes."""
    return {op.tensor.string_value() for op in of_kind(kernel, kind)}


def _rows(kernel: attn.KernelOp) -> list[attn.IndexOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, attn.GridOp | attn.RowOp)]


def _workspaces(
    kernel: attn.KernelOp, over: attn.OverOp, module: ModuleOp, splits: int | None
) -> dict[SSAValue, Workspace] | None:
    """Where splits leave each state that a reduction has; None where a launch cannot know how large that is.

    In an element's place the number of the split stands for the key, behind the rows and before the features.
    """
    axes, symbols = AxesAnalysis(), symbols_of(module)
    workspaces: dict[SSAValue, Workspace] = {}
    for reduction in folded_in(kernel):
        for state, name in zip(reduction.results, reduction.states, strict=True):
            variables = [op.result for op in variables_of(state, kernel, axes)]
            sizes = rooms_of(state, kernel, axes)
            extents = [extent for extent in sizes if extent is not None]
            if len(extents) < len(sizes):
                return None
            rows = sum(not isinstance(variable.owner, attn.AxisOp) for variable in variables)
            variables.insert(rows, over.result)
            extents.insert(rows, ("choice", SPLITS) if splits is None else splits)
            symbol = fresh(f"{kernel.entry.data}_{name}", symbols)
            symbols.add(symbol)
            tensor = spec.TensorOp(symbol, "workspace", ELEMENTS[state.type], extents)
            tensor.location = reduction.location
            workspaces[state] = Workspace(tensor, state, tuple(variables))
    return workspaces


def _copy(kernel: attn.KernelOp, step: str) -> tuple[attn.KernelOp, attn.OverOp, Values]:
    """A copy of a kernel, the key variable in it, and what each value has become in it."""
    copied: Values = {}
    copy = kernel.clone(copied)
    copy.entry = StringAttr(f"{kernel.entry.data}_{step}")
    over = over_of(copy)
    assert over is not None
    return copy, over, copied


def _choice(over: attn.OverOp, splits: int | None) -> SSAValue:
    """How many splits there are; more than there are keys would be of no use."""
    if splits is not None:
        return insert_before(over, index_constant(splits))
    return insert_before(over, spec.ChoiceOp(SPLITS, limit_of(over)), SPLITS)


def _split_name(kernel: attn.KernelOp) -> str:
    return fresh("split", {op.variable.data for op in kernel.body.block.ops if isinstance(op, attn.IndexOp)})


def _fold_split(
    kernel: attn.KernelOp, keys: attn.OverOp, workspaces: dict[SSAValue, Workspace], splits: int | None
) -> attn.KernelOp:
    """The kernel that folds one split of the keys, and writes the states."""
    step, over, copied = _copy(kernel, "split")
    block = step.body.block
    for write in [op for op in block.ops if isinstance(op, attn.WriteOp)]:
        block.erase_op(write)
    choice, name = _choice(over, splits), _split_name(kernel)
    split = insert_before(over, attn.GridOp(name, choice), name)
    cut = attn.OverOp(over.variable.data, over.extent, over.bound, over.start, split, choice, over.within)
    replace(over, [insert_before(over, cut)])
    copied[keys.result] = split
    for state, workspace in workspaces.items():
        block.add_op(workspace.write(copied[state], copied))
    sort_block(block)
    return step


def _merge(
    kernel: attn.KernelOp, keys: attn.OverOp, workspaces: dict[SSAValue, Workspace], splits: int | None, packed: bool
) -> attn.KernelOp:
    """The kernel that folds the states of the splits, and does all that followed the reductions.

    No two rows share what they read, so that each is a program's; unless they are to be `packed` in tiles.
    """
    step, over, copied = _copy(kernel, "merge")
    step.schedule = None  # what a spec pins is for tiles of keys
    choice, name = _choice(over, splits), _split_name(kernel)
    split = insert_before(over, attn.OverOp(name, choice), name)
    copied[keys.result] = split
    rows = _rows(step)
    known = all(limit_of(row) is row.extent for row in rows)  # else where rows end may rest on the program
    meet = any(write.adds for write in of_kind(step, attn.WriteOp))  # those of a tile would
    for old, row in zip(_rows(kernel), rows, strict=True):
        if packed and (meet or not known):
            copied[old.result] = row.result
            continue
        limit, kind = limit_of(row), attn.RowOp if packed else attn.GridOp
        bound = limit if limit is not row.extent else None
        copied[old.result] = insert_before(row, kind(row.variable.data, row.extent, bound))
        replace(row, [copied[old.result]])
    for reduction, merging in zip(folded_in(kernel), folded_in(step), strict=True):
        assert not isinstance(merging, attn.ScatterOp), "what adds to elements has no states"
        read = [insert_before(merging, workspaces[state].read(copied), state.name_hint) for state in reduction.results]
        merged, results = merging.merging(read, split)
        insert_before(merging, merged)
        replace(merging, results)
    sort_block(step.body.block)
    return step
