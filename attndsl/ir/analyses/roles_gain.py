"""Whether roles make a kernel faster, by what is known before a launch: a small cost model. An analysis.

What a launch adds to it, rows, keys and tiles of rows, its file says (`attndsl.backends.gpu.roles_rule`). Both were
fitted to what an H200 took (docs/performance.md, "With roles").
"""

from __future__ import annotations

from typing import NamedTuple

from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_loads import through_registers
from attndsl.ir.analyses.role_parts import Box, Roled, features_of
from attndsl.ir.analyses.role_room import holds_queries, is_looked_up
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.meaning import is_approximate, is_elementwise
from attndsl.ir.xdsl import Operation, arith, math


class NoGain(ValueError):
    """A kernel is slower with roles, whatever the call; the message says why, in words that follow on "because"."""


TERMS_AT_ONCE = 16
"""The terms of products of 16-bit numbers that a processor sums up in the time of one operation of its 128 lanes."""

SPECIAL = 8
"""What an operation of the special-function unit takes, which has 16 lanes, in the time of one of the 128."""

COSTS: dict[type[Operation], int] = {
    math.ExpOp: SPECIAL,
    math.Exp2Op: SPECIAL,
    math.LogOp: SPECIAL,
    math.Log2Op: SPECIAL,
    math.SqrtOp: SPECIAL,
    math.RsqrtOp: SPECIAL,
    math.SinOp: SPECIAL,
    math.CosOp: SPECIAL,
    arith.DivfOp: SPECIAL,
    math.TanOp: 2 * SPECIAL,
    math.TanhOp: 2 * SPECIAL,
    math.ErfOp: 2 * SPECIAL,
    arith.FloorDivSIOp: 3 * SPECIAL,
    spec.ModOp: 3 * SPECIAL,
}
"""The operations that take more than one."""

REDUCTIONS = (tile.MaxOp, tile.MinOp, tile.SumOp, tile.ReduceOp)


class Enough(NamedTuple):
    """The keys from which on roles pay, and fewer that do where each processor has so many rounds of them to do.

    A round is a tile of rows with the fewer keys, or as much of others.
    """

    keys: int
    fewer: int
    rounds: int

    @classmethod
    def of(cls, keys: int) -> Enough:
        """So many keys, and none fewer."""
        return cls(keys, keys, 0)


ENOUGH = {1.25: Enough(512, 128, 3), 1.5: Enough(1024, 256, 8), 2.5: Enough.of(2048)}
ENOUGH_AT_BOTH_ENDS = {most: Enough.of(enough.keys) for most, enough in ENOUGH.items()}
"""What pays, by how long a score's arithmetic takes at most, in times of its products; and where rows differ at both.

With roles it runs beside products, and is hidden while it takes no longer than they; a plain kernel has more programs
on a processor, of which one computes while another multiplies. What a tile of rows begins and ends with costs much of
few turns; a window, whose rows see few of the keys, loses some of the shorter calls. On an H200 (of 128 features an
H100), of bf16, roles took so much of the time of the plain form of 32 x 4 heads (ALiBi of 128 features and 4096 keys of
32 x 2):

| | arithmetic | 4096 keys | 1024 | 512 |
| --- | --- | --- | --- | --- |
| 128 features: no mask, causal | 0.75 | 0.75, 0.72 | 0.69, 0.73 | 0.79, 0.85 |
| a window, grouped heads | 0.75 | 0.81, 0.77 | 0.91, 0.84 | 1.08, 0.96 |
| ALiBi, sigmoid | 0.8, 1.25 | 0.63, 0.71 | 0.69, 0.72 | 0.78, 0.86 |
| 64 features: no mask, causal | 1.5 | 0.96, 0.80 | 0.97, 0.82 | 1.05, 0.93 |
| a window, grouped heads | 1.5 | 0.88, 0.82 | 1.00, 0.92 | 1.25, 1.08 |
| ALiBi | 1.6 | 0.88 | 0.95 | 1.03 |
| sigmoid | 2.5 | 0.98 | 1.02 | 1.16 |
| 32 features: no mask, causal | 3 | 0.99, 1.00 | 1.03, 1.09 | 1.14, 1.24 |

Fewer keys pay where each processor has several tiles of rows, beside which a launch, and what a program begins with,
take little. With so many heads in all, grouped ones by fours:

| | heads | 128 keys | 192 | 256 | 384 | 512 |
| --- | --- | --- | --- | --- | --- | --- |
| 128 features: no mask | 128 | 1.25 | 1.26 | 0.91 | 0.81 | 0.76 |
| | 1024 | 0.82 | 0.98 | 0.70 | 0.68 | 0.65 |
| causal, grouped | 128 | 1.26, 1.23 | 1.03, 0.95 | 0.85 | 0.80, 0.84 | 0.76, 0.74 |
| | 1024 | 0.65, 0.68 | 0.85, 0.71 | 0.65 | 0.66, 0.68 | 0.65 |
| ALiBi, softcap | 128 | 1.28, 1.13 | 1.14, 1.00 | 0.85, 0.76 | 0.85, 0.77 | 0.77, 0.69 |
| | 1024 | 0.70, 0.64 | 0.93, 0.86 | 0.71, 0.64 | 0.72, 0.65 | 0.69, 0.62 |
| a window of 128 | 128 | 1.17 | 1.35 | 1.10 | 1.02 | 1.01 |
| | 1024 | 0.67 | 1.36 | 1.02 | 1.03 | 1.02 |
| 96 features: no mask | 128 | 1.35 | 1.35 | 0.98 | 0.84 | 0.79 |
| | 1024 | 0.71 | 1.03 | 0.69 | 0.68 | 0.70 |
| 256 features: no mask, grouped | 128 | 0.98, 0.76 | 0.79, 0.53 | 0.76, 0.53 | 0.65, 0.53 | 0.61, 0.52 |
| | 1024 | 0.71, 0.48 | 0.63, 0.48 | 0.60, 0.48 | 0.55, 0.50 | 0.55, 0.51 |
| 64 features: softcap | 128 | 1.36 | 1.33 | 1.00 | 0.92 | 0.81 |
| | 1024 | 0.81 | 1.15 | 0.81 | 0.77 | 0.73 |
| 64 features: no mask | 128 | 1.50 | 1.83 | 1.35 | 1.12 | 1.07 |
| | 1024 | 0.99 | 1.50 | 0.95 | 0.96 | 0.97 |
| causal, grouped | 128 | 1.55 | 1.33, 1.29 | 1.10 | 1.05 | 0.93, 0.96 |
| | 1024 | 0.84, 0.93 | 1.11, 0.90 | 0.81, 0.83 | 0.81, 0.83 | 0.78, 0.80 |
"""

WHATEVER_IT_TAKES = Enough.of(512)
"""What pays whatever the arithmetic of a score takes."""


ONE_SUM, SEVERAL_SUMS, TURNED_KEYS = 1.35, 1.5, 512
"""The same of turns of several scores, as gradients have, whose sums do not run on under the next turn.

How long a score's arithmetic takes at most where all sums are of the same weights, and where not, and the keys.

On an H200 kernels of gradients took so much of the time of the plain form, of bf16, 32 x 4 heads of 4096 keys and as
many numbers at fewer keys: those of queries, then those of keys and values.

| | arithmetic | 4096 keys | 1024 | 512 |
| --- | --- | --- | --- | --- |
| 128 features, no mask | 0.5, 0.4 | 0.82, 0.97 | | |
| 128 features, causal | 0.5, 0.4 | 0.80, 1.00 | 0.78, 1.01 | 0.80, 1.01 |
| 64 features, no mask | 1, 0.8 | 0.92 to 1.03, 0.94 to 0.97 | 0.95, 0.97 | 0.95, 0.97 |
| 64 features, causal | 1, 0.8 | 0.87, 0.93 | 0.85, 0.87 | 0.82, 0.83 |
| 64 features, softcap | 0.7, 0.5 | 0.77, 0.67 | 0.83, 0.71 | 0.83, 0.74 |
| 64 features, ALiBi | -, 1.1 | -, 0.90 | -, 0.83 | |
| 32 features, no mask | 2, 1.5 | 1.14, 0.89 | 1.19, 0.90 | 1.18, 0.87 |
| 32 features, causal | 2, 1.5 | 1.11, 0.99 | 1.10, 0.90 | 1.10, 0.87 |
| 32 features, softcap | 1.3, 1 | 0.71, 0.76 | | 0.85, 0.95 |

Sums of keys and values of grouped heads, which walk the heads of a group in turn, took 0.89 of the time under a causal
mask with 128 features, 0.82 in a window; with softcap 0.69. Two softmaxes over the same values took 0.59 of the time
with 64 features, 0.59 of 512 keys; 0.68 and 0.85 with 128, 0.75 and 0.64 with 96, 1.07 and more with 32, whose
arithmetic takes 3. Packed requests of 2000 keys on average took 0.80 and 0.64 with 64 features, 0.79 and 0.79 with 128.
"""

ADDED_ARITHMETIC, ADDED_KEYS, DIFFERING_KEYS = (0.8, 1.0), 2048, 8192
"""How long a score's arithmetic takes, and the keys from which on, where one kernel that adds up does what two do.

It makes five products for seven, and a score's arithmetic once for twice; what it costs is an exchange in each turn,
sums that are added in memory, which is cleared before and converted behind. The last are the keys where rows differ in
where theirs begin, or end. On an H200 it took, all of that included, so much of the time of two kernels with roles, of
bf16, 32 x 4 heads of 4096 keys and of as many numbers at fewer and more:

| | arithmetic | 8192 keys | 4096 | 2048 | 1024 |
| --- | --- | --- | --- | --- | --- |
| 64 features, no mask | 0.8 | 0.92 | 0.89 | 0.95 | 1.00 |
| 64 features, causal | 0.8 | 0.95 | 0.98 | 1.05 | 1.10 |
| 128 features, no mask | 0.4 | 1.02 | 1.03 | | |
| 128 features, causal | 0.4 | | 1.22 | | |

Those of 128 features, of rows that walk a nest of loops or differ at both ends, and of other scores are two kernels; a
prefix, whose rows see keys alike, was not timed.
"""

LEAST_FEATURES = 256
"""The features of keys and values from which on products take as long as threads that load a tile for their scores.

On an H200 relative biases of 128 and 128 features took 0.73 to 0.78 of the time with roles, dense ones 0.59, and both
of 64 and 64 features 1.2 to 2.0. Keys and values of 128 features that threads loaded took 1.12.
"""


def arithmetic_of(found: Roled) -> int:
    """The operations that a score takes on its way to a weight, in a tile that is full."""
    axes, loop = AxesAnalysis(), found.loops[0]
    assert loop.axis is not None
    pair = {found.row_axis.result, loop.axis.result}
    made = [op for op in loop.body.block.ops if is_elementwise(op) or isinstance(op, REDUCTIONS)]
    taken = sum(_cost(op) for op in made if any(pair <= axes(v) for v in (*op.operands, *op.results)))
    return taken - len(found.joined)  # pieces of a score are added up by their products


def _cost(op: Operation) -> int:
    return SPECIAL if is_approximate(op) else COSTS.get(type(op), 1)


def _saved(found: Roled) -> int:
    """What roles save a score's arithmetic: an approximation takes one operation of two, and no guards beside them.

    With softcap roles took 0.71, 0.78 and 0.91 of the time of a plain kernel, of 64 features 0.69, 0.80 and 0.95.
    """
    return 2 * SPECIAL * sum(is_approximate(op) for op in found.loops[0].body.block.ops)


def products_of(found: Roled) -> float:
    """What the products of a score take, of the key's features and of the value's, in the same unit."""
    return features_of(found.products) / TERMS_AT_ONCE


def enough_for(found: Roled) -> Enough:
    """From what on a kernel is faster with roles. Raises NoGain where it is not, however many keys there are.

    What is converted in the role that loads, and not by each program that multiplies it, pays whatever a score takes,
    and so does a tile of rows and keys that is copied: on an H200 keys and values of 8 bits took 0.56 to 0.85 of the
    time, of 32 or 64 features, and biases of each head 0.55 to 0.65, of 64.
    """
    if through_registers(found, (each.box.value for each in found.products)):
        raise NoGain("threads load keys or values as they are, which are no boxes")
    if through_registers(found, found.loaded) and features_of(found.products) < LEAST_FEATURES:
        raise NoGain("products of so few features are done before threads have loaded what a turn reads beside")
    axes, row, last = AxesAnalysis(), found.row_axis.result, found.folded
    if found.fed or any(isinstance(each, Box) and row in axes(each.value) for each in found.beside):
        return WHATEVER_IT_TAKES
    several = not found.rotates and len({each.left for each in found.summing}) > 1
    if several and is_looked_up(found) and not holds_queries(found):
        # On an H200 gradients of keys and values of documents took 1.15 of the time of the plain form with 128
        # features: half of their turns are mixed, and masks have few registers beside several sums.
        raise NoGain("data say which keys a turn of several sums has, and most of its tiles are mixed")
    arithmetic, products = arithmetic_of(found) - _saved(found), products_of(found)
    differ = [bool(axes(end)) for end in (last.row_start, last.row_stop)]
    if found.adding:
        least, most = ADDED_ARITHMETIC
        timed = len(found.loops) == 2 and last.outer is None and not all(differ)
        if timed and least * products <= arithmetic <= most * products:
            return Enough.of(DIFFERING_KEYS if any(differ) else ADDED_KEYS)
        raise NoGain("one kernel that adds up was no faster than two, whose sums are the same each time")
    table = ENOUGH_AT_BOTH_ENDS if all(differ) else ENOUGH
    if not found.rotates:
        table = {SEVERAL_SUMS if several else ONE_SUM: Enough.of(TURNED_KEYS)}
    for most, enough in table.items():
        if arithmetic <= most * products:
            return Enough.of(enough.keys) if found.shares else enough
    raise NoGain(f"the arithmetic of a score takes {arithmetic / products:.3g} times as long as its products")
