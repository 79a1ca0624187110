"""pack-rows: rows whose keys are the same share a tile.

Why: a tile of keys that is read once should meet as many queries as possible. Rows differ in their keys only through
the variables that the tiles of keys and values depend on. Those variables stay apart, each value another program's
work (`attn.grid`); the others together number the rows of a tile (`attn.row`). Where a variable counts only through
its quotient by a number, it is split: the quotient stays apart, the remainder joins the rows.

Before:

    spec.tensor @q "input" "f32" ["H", "D"]
    spec.tensor @x "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["H"]
    attn.kernel @k {
      %H = spec.dim "H"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %h = attn.each "h" to %H
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%h, %d] : f32
      %x = attn.read @x[%j, %d] : f32
      %p = arith.mulf %q, %x : f32
      %s = attn.sum %p over %d : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%h] = %t : f32
    }

After:

    spec.tensor @q "input" "f32" ["H", "D"]
    spec.tensor @x "input" "f32" ["N", "D"]
    spec.tensor @o "output" "f32" ["H"]
    attn.kernel @k {
      %H = spec.dim "H"
      %N = spec.dim "N"
      %D = spec.dim "D"
      %h = attn.row "h" to %H
      %j = attn.over "j" to %N
      %d = attn.axis "d" to %D
      %q = attn.read @q[%h, %d] : f32
      %x = attn.read @x[%j, %d] : f32
      %p = arith.mulf %q, %x : f32
      %s = attn.sum %p over %d : f32
      %t = attn.max %s over %j : f32
      attn.write @o[%h] = %t : f32
    }

A tile of keys is what depends on the key variable and on a feature variable: a read, or a contraction of reads. Row
variables that the mask depends on come first, so that a tile holds few of their values and the keys that it sees are
few.

Ensures: no attn.each is left. Exactness: bit-exact. Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import over_of, reductions_of
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import index_constant, insert_before, replace, sort_block
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith


@dataclass(frozen=True)
class PackRows(ModulePass):
    """Turns every attn.each into attn.grid, attn.row, or one of each."""

    name = "pack-rows"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp):
                _pack(kernel)
                sort_block(kernel.body.block)


def _pack(kernel: attn.KernelOp) -> None:
    block = kernel.body.block
    eachs = [op for op in block.ops if isinstance(op, attn.EachOp)]
    if not eachs:
        return
    anchor = eachs[-1].next_op
    masking = _masking(kernel, AxesAnalysis())
    rows: list[tuple[bool, attn.EachOp, SSAValue]] = []
    for each, is_apart, divisor in reversed(list(_placed(kernel))):
        if is_apart:
            replace(each, [insert_before(each, attn.GridOp(each.variable.data, each.extent, each.bound))])
        elif divisor is not None:
            rows.append((each.result in masking, each, _split(each, divisor)))
        else:
            rows.append((each.result in masking, each, each.extent))
    assert anchor is not None, "a kernel writes something"
    # What the mask depends on varies slowest; of the others the last variable of the spec varies fastest, as in memory.
    for _, each, extent in [row for row in rows if row[0]] + [row for row in rows[::-1] if not row[0]]:
        row = attn.RowOp(each.variable.data, extent, each.bound if extent is each.extent else None)
        insert_before(anchor, row, each.variable.data)
        row.location = each.location
        if extent is each.extent:
            replace(each, [row.result])
        else:
            _recombine(each, row, anchor)


def variables_of_tiles(kernel: attn.KernelOp) -> frozenset[SSAValue]:
    """The variables of which the rows of a tile have several values."""
    return frozenset(each.result for each, is_apart, _ in _placed(kernel) if not is_apart)


def _placed(kernel: attn.KernelOp) -> Iterator[tuple[attn.EachOp, bool, SSAValue | None]]:
    """Each variable of rows, whether it stays apart, and what only its quotient by does where it does not."""
    facts, axes = Facts(kernel.body.block), AxesAnalysis()
    eachs = [op for op in kernel.body.block.ops if isinstance(op, attn.EachOp)]
    needed = _needed_for_keys(kernel, axes)
    ranging = frozenset[SSAValue]().union(*(axes(v) for each in eachs for v in each.operands))
    found = []
    for each in eachs:
        uses = [use.operation for use in each.result.uses if use.operation in needed]
        divisor = _common_divisor(each.result, uses, facts)
        is_apart = each.result in ranging or bool(uses and (divisor is None or each.bound is not None))
        found.append((each, is_apart, divisor))
    rows = [each.result for each, is_apart, _ in found if not is_apart]
    kept = _kept_apart(kernel, rows, axes)
    for each, is_apart, divisor in found:
        yield each, is_apart or each.result in kept, divisor


def _kept_apart(kernel: attn.KernelOp, rows: Sequence[SSAValue], axes: AxesAnalysis) -> frozenset[SSAValue]:
    """Which of the variables stay apart so that rows of a tile that add meet nowhere, or all in one place.

    The last one tells which: its rows are mostly many, and neighbours in memory. Where its places are known to a
    program alone, rows of a tile may meet as they will.
    """
    writes = [op for op in kernel.body.block.ops if isinstance(op, attn.WriteOp | attn.ScatterOp)]
    adds = [op for op in writes if isinstance(op, attn.ScatterOp) or op.adds is not None]
    if not adds or not rows:
        return frozenset()
    meeting = frozenset[SSAValue]().union(*(axes(variable) for op in adds for variable in op.along))
    placing = frozenset[SSAValue]().union(*(axes(index) for op in adds for index in op.indices))
    if rows[-1] not in meeting:
        return meeting.intersection(rows)
    if rows[-1] not in placing:
        return (placing | (frozenset(rows) - meeting)).intersection(rows)
    return frozenset(rows) - placing


def _needed_for_keys(kernel: attn.KernelOp, axes: AxesAnalysis) -> set[Operation]:
    """Every operation that a tile of keys or values rests on, where it is read or contracted from what is read."""
    over = over_of(kernel)
    if over is None:
        return set()
    needed: set[Operation] = set()
    stack: list[Operation] = []
    for op in kernel.body.block.ops:
        if isinstance(op, (attn.ReadOp, attn.ReduceAxisOp)):
            variables = axes(op.result)
            if over.result in variables and any(isinstance(v.owner, attn.AxisOp) for v in variables):
                stack.append(op)
    while stack:
        op = stack.pop()
        if op not in needed:
            needed.add(op)
            # How far a variable runs does not say where a key is: what its extent rests on is not followed.
            owners = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
            stack.extend(owner for owner in owners if not isinstance(owner, attn.IndexOp))
    return needed


def _masking(kernel: attn.KernelOp, axes: AxesAnalysis) -> frozenset[SSAValue]:
    """The variables that the mask, or the range of keys, of a row depends on."""
    conditions = [r.where for r in reductions_of(kernel) if r.where is not None]
    over = over_of(kernel)
    ranges = list(over.operands) if over is not None else []
    return frozenset[SSAValue]().union(*(axes(v) for v in (*conditions, *ranges)))


def _common_divisor(variable: SSAValue, uses: list[Operation], facts: Facts) -> SSAValue | None:
    """What a variable is divided by in all of `uses`, where they are divisions by one positive number."""
    divisors = {use.rhs for use in uses if isinstance(use, arith.FloorDivSIOp) and use.lhs is variable}
    if len(divisors) != 1 or not all(isinstance(use, arith.FloorDivSIOp) for use in uses):
        return None
    (divisor,) = divisors
    return divisor if facts.positive(divisor) else None


def _split(each: attn.EachOp, divisor: SSAValue) -> SSAValue:
    """Splits off the quotient of a variable as a grid variable; gives the number of remainders that go with it."""
    one = insert_before(each, index_constant(1))
    padded = insert_before(each, arith.SubiOp(insert_before(each, arith.AddiOp(each.extent, divisor)), one))
    quotients = insert_before(each, arith.FloorDivSIOp(padded, divisor))
    divisor.name_hint = divisor.name_hint or "group"
    name = f"{each.variable.data}_{divisor.name_hint}"
    quotient = insert_before(each, attn.GridOp(name, quotients), name)
    start = insert_before(each, arith.MuliOp(quotient, divisor))
    return insert_before(each, arith.MinSIOp(divisor, insert_before(each, arith.SubiOp(each.extent, start))))


def _recombine(each: attn.EachOp, row: attn.RowOp, anchor: Operation) -> None:
    """The variable is quotient * divisor + remainder, the remainder being a row variable."""
    left = row.extent.owner
    assert isinstance(left, arith.MinSIOp) and isinstance(left.rhs.owner, arith.SubiOp)
    start = left.rhs.owner.rhs
    variable = arith.AddiOp(start, row.result)
    replace(each, [insert_before(anchor, variable, each.variable.data)])
    variable.location = each.location
