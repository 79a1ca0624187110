"""Whether roles make a kernel faster, by what is known before a launch: a small cost model. An analysis.

What a launch adds to it, rows, keys and tiles of rows, its file says (`attndsl.backends.gpu.roles_rule`). Both were
fitted to what an H200 took (docs/performance.md, "With roles").
"""

from __future__ import annotations

from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_loads import through_registers
from attndsl.ir.analyses.role_parts import Roled, features_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import made_of
from attndsl.ir.meaning import is_elementwise
from attndsl.ir.xdsl import Operation, arith, math

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

MOST_ARITHMETIC, MOST_OF_EVEN = 1.5, 1.35
"""How long the arithmetic of a score may take at most, in times of its products: of any loop, and of one that is as
long for every program.

With roles it runs beside products, and is hidden while it takes no longer than they; a plain kernel has more programs
on a processor, of which one computes while another multiplies. Programs with roles take tiles from a counter, which
gains more where some are longer than others. Of bf16: plain softmax of 128 features 0.75 (roles take 0.75 to 0.79 of
the time), with ALiBi 1.06 (0.90), of 80 features 1.2 (0.88), of 64 features 1.5 (0.79 to 1.00 under a causal mask, 1.00
to 1.20 without one), with softcap of 128 features 1.8 (1.14).
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
    taken = sum(COSTS.get(type(op), 1) for op in made if any(pair <= axes(v) for v in (*op.operands, *op.results)))
    return taken - len(found.joined)  # pieces of a score are added up by their products


def products_of(found: Roled) -> float:
    """What the products of a score take, of the key's features and of the value's, in the same unit."""
    return features_of(found.products) / TERMS_AT_ONCE


def loss(found: Roled) -> str | None:
    """Why a kernel is slower with roles, whatever the call, in words that follow on "because"; None where it is not."""
    if through_registers(found, (each.box.value for each in found.products)):
        return "threads load keys or values as they are, which are no boxes"
    if through_registers(found, found.loaded) and features_of(found.products) < LEAST_FEATURES:
        return "products of so few features are done before threads have loaded what a turn reads beside"
    arithmetic, products = arithmetic_of(found), products_of(found)
    ends = made_of(end for loop in found.loops for end in (loop.lb, loop.ub))
    even = not any(isinstance(op, tile.ProgramOp) for op in ends)
    if arithmetic <= (MOST_OF_EVEN if even else MOST_ARITHMETIC) * products:
        return None
    return f"the arithmetic of a score takes {arithmetic / products:.3g} times as long as its products"
