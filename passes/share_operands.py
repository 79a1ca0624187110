"""share-operands: a contracted axis is renamed to another of the same extent where two reads then become one.

Why: what is a key and a value (a latent, of which each head takes its own view) need be read once, and stand in a
tile once. Each contraction has a variable of its own, so that the key is a read along one variable, and the value the
same read along another. Renamed, they are one.

Before:

    spec.tensor @q "input" "f32" ["M", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @o "output" "f32" ["M", "R"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %R = spec.dim "R"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %r = attn.axis "r" to %R
      %e = attn.axis "e" to %R
      %q = attn.read @q[%i, %r] : f32
      %key = attn.read @c[%j, %r] : f32
      %p = arith.mulf %q, %key : f32
      %s = attn.sum %p over %r : f32
      %value = attn.read @c[%j, %e] : f32
      %m = attn.softmax %s, %value over %j : f32
      attn.write @o[%i, %e] = %m : f32
    }

After:

    spec.tensor @q "input" "f32" ["M", "R"]
    spec.tensor @c "input" "f32" ["N", "R"]
    spec.tensor @o "output" "f32" ["M", "R"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %R = spec.dim "R"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %e = attn.axis "e" to %R
      %q = attn.read @q[%i, %e] : f32
      %key = attn.read @c[%j, %e] : f32
      %p = arith.mulf %q, %key : f32
      %s = attn.sum %p over %e : f32
      %value = attn.read @c[%j, %e] : f32
      %m = attn.softmax %s, %value over %j : f32
      attn.write @o[%i, %e] = %m : f32
    }

A contracted variable is renamed where fewer distinct reads are left then, and where no value depends on both: renaming
e to d in f(d, e) would give f(d, d), the diagonal. `cse` makes one of equal reads.

Requires: canonicalize and cse, so that equal extents are one value or equal constants. Exactness: bit-exact.
Idempotent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import product

from attndsl.ir import attn
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import constant, replace, sort_block
from attndsl.ir.xdsl import Block, Context, ModuleOp, ModulePass, SSAValue


@dataclass(frozen=True)
class ShareOperands(ModulePass):
    """Renames contracted variables as long as that makes two reads one."""

    name = "share-operands"
    exactness = Exactness.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, attn.KernelOp):
                block = kernel.body.block
                while (pair := next(_shared(block), None)) is not None:
                    contracted, other = pair
                    replace(contracted, [other.result])
                    sort_block(block)


def _shared(block: Block) -> Iterator[tuple[attn.AxisOp, attn.AxisOp]]:
    """Pairs of a contracted variable and the one that it can be renamed to, so that fewer distinct reads are left."""
    analysis = AxesAnalysis()
    together = [analysis(value) for op in block.ops for value in op.results]
    written = frozenset[SSAValue]().union(
        *(analysis(place) for op in block.ops if isinstance(op, attn.WriteOp | attn.ScatterOp) for place in op.indices)
    )
    variables = [op for op in block.ops if isinstance(op, attn.AxisOp)]
    contracted = [op for op in variables if op.result not in written]
    # The variables of the output come first, which stay whatever is renamed; then the earliest.
    variables.sort(key=lambda op: op.result not in written)
    reads = _different_reads(block, {})
    for old, new in product(reversed(contracted), variables):
        if old is new or not _equal(old.extent, new.extent):
            continue
        if any({old.result, new.result} <= axes for axes in together):
            continue
        if _different_reads(block, {old.result: new.result}) < reads:
            yield old, new


def _equal(a: SSAValue, b: SSAValue) -> bool:
    """Whether two extents are known to be the same."""
    return a is b or (constant(a) is not None and constant(a) == constant(b))


def _different_reads(block: Block, renamed: dict[SSAValue, SSAValue]) -> int:
    """The number of distinct reads once common subexpressions are merged, with some variables `renamed`."""
    # Value numbering: a variable is itself, any other value its operation and the numbers of its operands.
    names: dict[SSAValue, Hashable] = {
        op.result: renamed.get(op.result, op.result) for op in block.ops if isinstance(op, attn.IndexOp)
    }
    known: dict[Hashable, int] = {}
    reads: set[int] = set()
    for op in block.ops:
        said = (type(op), tuple(sorted(op.properties.items())), tuple(names[operand] for operand in op.operands))
        number = known.setdefault(said, len(known))
        for position, result in enumerate(op.results):
            names.setdefault(result, (number, position))
        if isinstance(op, attn.ReadOp):
            reads.add(number)
    return len(reads)
