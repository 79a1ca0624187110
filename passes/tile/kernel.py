"""One `attn` kernel as a `tile` kernel: its programs, the axis of its rows, its loops over keys, and its writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attndsl.choices import ROWS
from attndsl.ir import attn, spec, tile
from attndsl.ir.hints import hint
from attndsl.ir.keys import levels, over_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.sizes import known_limit
from attndsl.ir.xdsl import SSAValue, arith, i1
from attndsl.passes.tile.builder import TileBuilder, order_of
from attndsl.passes.tile.key_loop import KeyLoop
from attndsl.passes.tile.lowering import Lowering
from attndsl.passes.tile.where import BlockScope, Where

FAR_BELOW = -(2**32)
"""A count of rows that is no less, times a size that has 31 bits, stays in 64 bits."""


def lower_kernel(source: attn.KernelOp, rows: int, keys: int, columns: int, fixed: bool) -> tile.KernelOp:
    """The lowered kernel, with tiles of so many rows, keys and columns.

    A size of rows or keys that is 0 is left to the launch. Where tiles of keys are of a `fixed` size, they run over the
    last key's end, and what lies behind it is absent.
    """
    target = tile.KernelOp(source.entry.data, source.form)
    target.when, target.unless, target.instead = source.when, source.unless, source.instead
    target.location = source.location
    lowering, block = Lowering(source, fixed), target.body.block
    at = Where(TileBuilder(block), (BlockScope(block, None),))
    lowering.need([op.result for op in lowering.ops if isinstance(op, attn.GridOp)], at)
    at = _rows(lowering, at, rows)
    _columns(lowering, at, columns)
    over = over_of(source)
    for reductions in levels(source):
        assert over is not None, "what is reduced is reduced over keys"
        at.outermost.values.update(KeyLoop(lowering, at, over, reductions, keys, fixed).lower())
    for op in lowering.ops:
        if isinstance(op, attn.WriteOp):
            lowering.need([*op.indices, op.value, *([op.where] if op.where is not None else [])], at)
            _write(lowering, at.of(op), op, fixed)
    for op in lowering.ops:
        if isinstance(op, spec.AssumeOp):
            lowering.need([op.condition], at)
            at.build.of(op).place(spec.AssumeOp(lowering.get(op.condition, at)), block)
    return target


def _write(lowering: Lowering, at: Where, op: attn.WriteOp, fixed: bool) -> None:
    block, build = at.outermost.block, at.build
    where = lowering.get(op.where, at) if op.where is not None else None
    indices = [lowering.get(v, at) for v in op.indices]
    value = lowering.get(op.value, at)
    along, within = None, False
    if op.adds is not None:
        value, where, within = _summed(lowering, at, op, indices, value, where)
        along = lowering.programs(op, at)
    if fixed:  # what is the same for several rows is stored for each
        for axis in (axis for v in indices for axis in sorted(build.axes(v), key=order_of)):
            value = build.along(value, axis, block)
    build.place(tile.StoreOp(op.tensor, indices, value, where, along, within), block)


def _summed(
    lowering: Lowering,
    at: Where,
    op: attn.WriteOp,
    indices: Sequence[SSAValue],
    value: SSAValue,
    where: SSAValue | None,
) -> tuple[SSAValue, SSAValue | None, bool]:
    """What a tile adds, summed up along each axis on which all of it meets, where it does, and whether some may meet.

    Rows that add nothing have 0 in such a sum; where none of a tile adds, no element is touched: there may be none.
    """
    build, block = at.build, at.outermost.block
    variables = [op.result for op in (*lowering.rows, *lowering.columns)]
    axes = {variable: lowering.target_axis(variable, at) for variable in variables}
    placed = frozenset[SSAValue]().union(*map(build.axes, indices))
    for axis in dict.fromkeys(axes.values()):
        if axis in placed:
            continue
        if where is not None and axis in build.axes(where):
            value = build.select([where], value, block)
            hidden = build.add(arith.XOrIOp(where, build.constant(True, i1)), block)
            nothing = build.add(tile.AllOp(build.along(hidden, axis, block), axis), block)
            where = build.add(arith.XOrIOp(nothing, build.constant(True, i1)), block)
        value = build.add(tile.SumOp(build.along(value, axis, block), axis), block, value.name_hint)
    met = frozenset[SSAValue]().union(*map(lowering.axes, op.along))
    return value, where, any(variable in met and axis in placed for variable, axis in axes.items())


def _rows(lowering: Lowering, at: Where, asked: int) -> Where:
    """One axis numbers all rows of a tile; the row variables are its digits, the first varying slowest."""
    rows = lowering.rows
    if not rows:
        return at
    limits = [row.bound or known_limit(row.extent) or row.extent for row in rows]
    lowering.need([row.extent for row in rows] + limits, at)
    at = at.of(rows[0])
    build, block, values = at.build, at.outermost.block, at.outermost.values
    extents = _counts(lowering, at, [row.extent for row in rows])
    total = _product(at, extents)
    total.name_hint = total.name_hint or "rows"
    bound = None
    if any(limit is not row.extent for limit, row in zip(limits, rows, strict=True)):
        bound = _product(at, _counts(lowering, at, limits))
    size = build.size(asked, ROWS)
    name = "_".join(row.variable.data for row in rows)
    program = tile.ProgramOp(name, total, bound, size, descending=_later_rows_see_more(lowering))
    start = build.add(program, block, f"{name}0")
    axis = rest = build.add(tile.RangeOp(name, start, total, size), block, name)
    for row, extent in list(zip(rows, extents, strict=True))[:0:-1]:
        values[row.result] = build.add(spec.ModOp(rest, extent), block, row.variable.data)
        rest = build.add(arith.FloorDivSIOp(rest, extent), block)
    values[rows[0].result] = rest
    rest.name_hint = hint(rows[0].variable.data)
    return replace(at, rows=axis)


def _columns(lowering: Lowering, at: Where, size: int) -> None:
    """The axis of the columns, in tiles of a size. What rests on rows alone comes before: it is made once for all."""
    for column in lowering.columns:
        plans = [lowering.contraction(op, at) for op in lowering.ops if isinstance(op, attn.SumOp)]
        factors = [factor for plan in plans if plan.form == "dot" for factor in (*plan.left, *plan.right)]
        lowering.need((factor for factor in factors if column.result not in lowering.axes(factor)), at)
        limit = column.bound or known_limit(column.extent) or column.extent
        lowering.need([column.extent, limit], at)
        at = at.of(column)
        build, block, name = at.build, at.outermost.block, column.variable.data
        extent, step = lowering.get(column.extent, at), build.number(size)
        bound = lowering.get(limit, at) if limit is not column.extent else None
        start = build.add(tile.ProgramOp(name, extent, bound, step, columns=True), block, f"{name}0")
        at.outermost.values[column.result] = build.add(tile.RangeOp(name, start, extent, step), block, name)


def _later_rows_see_more(lowering: Lowering) -> bool:
    """Whether the number of a row's keys grows with the row."""
    over = over_of(lowering.source)
    rows = {row.result for row in lowering.rows}
    if over is None or (over.start is not None and rows & lowering.axes(over.start)):
        return False
    return bool(rows & lowering.axes(over.extent))


def _counts(lowering: Lowering, at: Where, extents: Sequence[SSAValue]) -> list[SSAValue]:
    """Extents that may be multiplied: two that are negative must not make a positive number of rows.

    Nor must one, which data may put so far below 0 that its product with the others leaves 64 bits.
    """
    facts = Facts(lowering.source.body.block)
    negative = {extent for extent in extents if not facts.nonnegative(facts.of(extent))}
    lowered = [lowering.get(extent, at) for extent in extents]
    if len(negative) < 2:
        negative = {extent for extent in negative if len(extents) > 1 and facts.ranges(extent).low < FAR_BELOW}
    if not negative:
        return lowered
    zero, block = at.build.number(0), at.outermost.block
    return [
        at.build.add(arith.MaxSIOp(count, zero), block, count.name_hint) if extent in negative else count
        for extent, count in zip(extents, lowered, strict=True)
    ]


def _product(at: Where, extents: Sequence[SSAValue]) -> SSAValue:
    """The product of lowered extents."""
    result = extents[0]
    for extent in extents[1:]:
        result = at.build.add(arith.MuliOp(result, extent), at.outermost.block)
    return result
