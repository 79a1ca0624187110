"""stream-softmax: a softmax becomes a monoid that is folded over the key positions, and a last division.

Why: a softmax needs all scores of a row before its first weight. The monoid (running maximum, sum of exponentials,
weighted sums) needs one pass and no memory of the scores, can be cut anywhere, and is merged associatively: streaming,
split-K and resumed partial results are bracketings of it. In base 2, since exp2 is what a GPU has; the factor log2(e)
joins the scales of the score where it has some. NumPy's exp2 is slow where it underflows, its exp is not.

Before:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %x = attn.read @s[%i, %j] : f32
      %y = attn.read @v[%j] : f32
      %r = attn.softmax %x, %y over %j : f32
      attn.write @o[%i] = %r : f32
    }

After:

    spec.tensor @s "input" "f32" ["M", "N"]
    spec.tensor @v "input" "f32" ["N"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i = attn.each "i" to %M
      %j = attn.over "j" to %N
      %x = attn.read @s[%i, %j] : f32
      %y = attn.read @v[%j] : f32
      %log2e = arith.constant 1.44269502 : f32
      %x2 = arith.mulf %x, %log2e : f32
      %m, %l, %a = attn.stream %x2, (%y) over %j : f32, f32, (f32)
      %zero = arith.constant 0.0 : f32
      %empty = arith.cmpf oeq, %l, %zero : f32
      %one = arith.constant 1.0 : f32
      %share = arith.divf %one, %l : f32
      %mean = arith.mulf %a, %share : f32
      %r = arith.select %empty, %zero, %mean : f32
      attn.write @o[%i] = %r : f32
    }

Ensures: no attn.softmax and no attn.logsumexp is left. Exactness: reassociates the scale of the score, and each
weight is 2^(s log2 e - m) for exp(s - m). Idempotent. Source: Milakov and Gimelshein, "Online normalizer calculation
for softmax", 2018; Dao et al., "FlashAttention", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir import attn
from attndsl.ir.base_two import in_base_two
from attndsl.ir.exactness import Exactness
from attndsl.ir.keys import reductions_of
from attndsl.ir.rewrite import constant, insert_before, replace, sort_block, terms_before
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, SSAValue, arith


@dataclass(frozen=True)
class StreamSoftmax(ModulePass):
    """Replaces attn.softmax and attn.logsumexp by attn.stream and what ends it, one stream a score and mask.

    `natural` keeps exponentials in base e, for targets whose exp2 is slow.
    """

    name = "stream-softmax"
    exactness = Exactness.REASSOCIATES

    natural: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.body.block.ops:
            if isinstance(kernel, attn.KernelOp):
                _stream(kernel, self.natural)
                sort_block(kernel.body.block)


def _stream(kernel: attn.KernelOp, natural: bool) -> None:
    groups: dict[tuple[SSAValue, SSAValue | None], list[attn.WeighOp]] = {}
    for op in reductions_of(kernel):
        if isinstance(op, attn.WeighOp):
            groups.setdefault((op.score, op.where), []).append(op)
    for (score, where), members in groups.items():
        values = [v for v in dict.fromkeys(v for member in members for v in member.values) if constant(v) != 1]
        last = members[-1]
        exponent = score if natural else in_base_two(score, last)
        stream = attn.StreamOp(exponent, values, last.over, where, natural)
        insert_before(last, stream, "m")
        stream.total.name_hint = "l"
        sums: dict[SSAValue, SSAValue] = {v: stream.total for member in members for v in member.values}  # that is of 1
        sums.update(zip(values, stream.sums, strict=True))
        for member in members:
            replace(member, [_finish(member, stream, sums)])


def _finish(op: attn.WeighOp, stream: attn.StreamOp, sums: dict[SSAValue, SSAValue]) -> SSAValue:
    """The result of a softmax or log-sum-exp from the folded state; a sink is one more key, with the value 0."""
    algebra, terms = stream.algebra, terms_before(op, stream.maximum.type)
    maximum: SSAValue = stream.maximum
    total: SSAValue = stream.total
    summed = [sums[value] for value in op.values]
    if op.sink is not None:
        sink = op.sink if stream.natural else in_base_two(op.sink, op)
        larger = terms.apply(arith.MaximumfOp, maximum, sink)
        shift = algebra.shift(larger, terms)
        scale, weight = algebra.power(maximum, shift, terms), algebra.power(sink, shift, terms)
        total = algebra.rescaled(total, scale, weight, terms)
        maximum = larger
        summed = [terms.apply(arith.MulfOp, value, scale) for value in summed]
    return op.finished(algebra, (maximum, total, *summed), terms)
