"""find-columns: where nothing is reduced over keys, a variable that tells rows apart becomes an axis of its own.

Why: a sum of products in which one factor goes by one variable, and the other factors by others, is a product of
matrices: of a tile of rows with a tile of columns. Were all variables packed on one axis of rows, each pair of a row
and a column would read both operands for itself.

Before:

    spec.tensor @q "input" "f32" ["B", "M", "D"]
    spec.tensor @k "input" "f32" ["B", "N", "D"]
    spec.tensor @p "output" "f32" ["B", "M", "N"]
    attn.kernel @products {
      %B = spec.dim "B"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %b = attn.each "b" to %B
      %i = attn.each "i" to %M
      %j = attn.each "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%b, %i, %d] : f32
      %k = attn.read @k[%b, %j, %d] : f32
      %x = arith.mulf %q, %k : f32
      %s = attn.sum %x over %d : f32
      attn.write @p[%b, %i, %j] = %s : f32
    }

After:

    spec.tensor @q "input" "f32" ["B", "M", "D"]
    spec.tensor @k "input" "f32" ["B", "N", "D"]
    spec.tensor @p "output" "f32" ["B", "M", "N"]
    attn.kernel @products {
      %B = spec.dim "B"
      %M = spec.dim "M"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %b = attn.grid "b" to %B
      %i = attn.each "i" to %M
      %j = attn.column "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%b, %i, %d] : f32
      %k = attn.read @k[%b, %j, %d] : f32
      %x = arith.mulf %q, %k : f32
      %s = attn.sum %x over %d : f32
      attn.write @p[%b, %i, %j] = %s : f32
    }

The column is a variable that some factors of a contraction go by, while others go by a variable that these do not: by
preference one that what is written has last, whose values then lie side by side. Whatever else the factors of the
column go by tells programs apart. All reductions over features must then be done with tiles, or be loops around such a
product; where an output has features beside its rows and columns, no tile holds it, and rows stay as they are. No
column is what says where rows or keys end.

Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeGuard

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import made_of, reductions_of
from attndsl.ir.rewrite import insert_before, replace
from attndsl.ir.traits import Axes
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue
from attndsl.passes.tile.contraction import ContractionPlan, contraction


@dataclass(frozen=True)
class FindColumns(ModulePass):
    """Turns an attn.each of each kernel without keys into attn.column, where that makes a product of matrices."""

    name = "find-columns"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp) and all(map(_is_contraction, reductions_of(kernel))):
                choice = next(_ways(kernel), None)
                if choice is not None:
                    _take(kernel, choice)


class _Columns(NamedTuple):
    """The variable of the columns, and those of which each value is another program's work."""

    column: SSAValue
    apart: Axes


def _take(kernel: attn.KernelOp, choice: _Columns) -> None:
    """Makes variables of a kernel what they are chosen to be."""
    for op in kernel.body.block.ops:
        if isinstance(op, attn.EachOp) and (op.result is choice.column or op.result in choice.apart):
            kind = attn.ColumnOp if op.result is choice.column else attn.GridOp
            replace(op, [insert_before(op, kind(op.variable.data, op.extent, op.bound))])


def _is_contraction(op: Operation) -> TypeGuard[attn.SumOp | attn.TotalOp]:
    """Whether an operation sums over features, one by one, in tiles or as others fold keys."""
    return isinstance(op, attn.SumOp) or (isinstance(op, attn.TotalOp) and op.precise is not None)


def _ways(kernel: attn.KernelOp) -> Iterator[_Columns]:
    """The ways to have columns, the best first."""
    axes, ops = AxesAnalysis(), list(kernel.body.block.ops)
    writes = [op for op in ops if isinstance(op, attn.WriteOp)]
    contractions = [op for op in ops if _is_contraction(op)]
    found = {variable.owner for op in writes for variable in _union(map(axes, op.indices))}
    if not contractions or any(isinstance(variable, attn.AxisOp | attn.ColumnOp) for variable in found):
        return
    eachs = [op for op in ops if isinstance(op, attn.EachOp)]
    ranging = _union(axes(v) for each in eachs for v in each.operands)
    ends = _union(axes(v) for op in ops if isinstance(op, attn.OverOp) for v in op.operands)
    last = _union(axes(op.indices[-1]) for op in writes if op.indices)
    ordered = sorted(eachs, key=lambda each: each.result in last)
    for each in reversed(ordered):
        column = each.result
        for op in contractions if column not in ranging | ends else ():
            rows = frozenset(other.result for other in eachs) - ranging
            factors = [axes(factor) & rows for factor in _factors(op, axes)]
            right = _union(found for found in factors if column in found)
            choice = _Columns(column, (ranging | right) - {column})
            if right and any(found - right for found in factors) and _Products(kernel, axes, choice).hold(op):
                yield choice


def _factors(op: attn.SumOp | attn.TotalOp, axes: Callable[[SSAValue], Axes]) -> tuple[SSAValue, ...]:
    """What a contraction multiplies."""
    plan = _plan(op, axes)
    return (*plan.left, *plan.right)


def _plan(op: attn.SumOp | attn.TotalOp, axes: Callable[[SSAValue], Axes]) -> ContractionPlan:
    """How a contraction is computed with tiles that have some axes."""
    return contraction(op.body, op.over, axes)


class _Products:
    """What tiles of rows and columns hold, were some variable the columns'."""

    def __init__(self, kernel: attn.KernelOp, axes: AxesAnalysis, choice: _Columns) -> None:
        self.axes = axes
        self.ops = list(kernel.body.block.ops)
        self.apart = choice.apart
        eachs = frozenset(op.result for op in self.ops if isinstance(op, attn.EachOp))
        self.rows = eachs - choice.apart - {choice.column}

    def of(self, value: SSAValue, running: Axes) -> Axes:
        """What a value varies along in a tile, where some run one value at a time; all rows are on one axis."""
        varying = self.axes(value)
        own = varying - self.apart - self.rows - running
        return own | {next(iter(self.rows))} if varying & self.rows else own

    def hold(self, product: Operation) -> bool:
        """Whether a contraction is a product of matrices, and all others are done with tiles, or loops around one."""
        products: set[SSAValue] = set()
        loops: dict[SSAValue, SSAValue] = {}
        keys = {op for op in self.ops if isinstance(op, attn.TotalOp)}
        for op in reversed(self.ops):
            running = frozenset(loops.values())
            if isinstance(op, attn.TotalOp):
                form = _plan(op, partial(self.of, running=frozenset())).form
            elif isinstance(op, attn.SumOp):
                form = _plan(op, partial(self.of, running=running)).form
            elif isinstance(op, attn.ReduceAxisOp):
                form = "loop" if len(self.of(op.body, running) - {op.over}) > 1 else "sum"
            else:
                continue
            if form == "loop":
                if not keys.isdisjoint(made_of([op.body])):  # a loop over keys stands in no other
                    return False
                loops[op.result] = op.over
            elif form == "dot":
                products.add(op.result)
        if products.isdisjoint(product.results):
            return False
        for op in self.ops:
            if not products.isdisjoint(op.operands):
                products.update(op.results)
        return loops.keys() <= products


def _union(found: Iterable[Axes]) -> Axes:
    return frozenset[SSAValue]().union(*found)
