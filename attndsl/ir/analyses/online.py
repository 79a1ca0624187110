"""The states of softmaxes that loops over keys carry, found by how they are folded. An analysis.

Such a state is a running maximum m, and sums of weights e^(s - m), or of weights times values, which a larger maximum
rescales (attndsl.ir.streams).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from attndsl.ir import tile
from attndsl.ir.monoids import MAX
from attndsl.ir.rewrite import constant, uniform
from attndsl.ir.xdsl import Operation, SSAValue, arith, math


@dataclass(frozen=True)
class OnlineState:
    """What a loop carries of one softmax, by its place among what it carries.

    `maximum` is the place of the maximum, `total` of the sum of weights, `sums` of all sums. A turn reads each sum
    once, to rescale it. `exponent` makes exponents of scores, score - shift, and `weight` is the power of that.
    """

    maximum: int
    total: int
    sums: tuple[int, ...]
    exponent: arith.SubfOp
    weight: SSAValue


def chains(kernel: tile.KernelOp) -> list[list[tile.LoopOp]]:
    """The loops of a kernel's programs, in order, each with those that go on with all that it carries."""
    found: list[list[tile.LoopOp]] = []
    for loop in kernel.body.block.ops:
        if isinstance(loop, tile.LoopOp):
            before = found[-1][-1] if found else None
            if before is not None and tuple(loop.iter_args) == tuple(before.results):
                found[-1].append(loop)
            else:
                found.append([loop])
    return [chain for chain in found if all(tile.users(v) == [b] for a, b in pairwise(chain) for v in a.results)]


def online_states(chain: Sequence[tile.LoopOp]) -> list[list[OnlineState]]:
    """Those of a chain of loops whose maxima do nothing but scale their sums: of each, as every loop folds it."""
    found: list[list[OnlineState]] = []
    for place, start in enumerate(chain[0].iter_args):
        if uniform(start) == MAX.empty:
            states = [state for loop in chain if (state := _online_state(loop, place)) is not None]
            if len(states) == len(chain) and len({(state.total, state.sums) for state in states}) == 1:
                found.append(states)
    return found


def _online_state(loop: tile.LoopOp, place: int) -> OnlineState | None:
    before, after = loop.body.block.args[1 + place], loop.end.values[place]
    if not isinstance(after.owner, arith.MaximumfOp):
        return None
    shift = next((op for op in tile.users(after) if isinstance(op, arith.SelectOp) and op.rhs is after), None)
    if shift is None or constant(shift.lhs) != 0:
        return None
    exponents = [op for op in tile.users(shift.result) if isinstance(op, arith.SubfOp) and op.rhs is shift.result]
    scaling = [op for op in exponents if op.lhs is before]
    scores = [op for op in exponents if op.lhs is not before]
    if len(scaling) != 1 or len(scores) != 1 or set(tile.users(before)) != {after.owner, *scaling}:
        return None
    weight, scale = _power(scores[0]), _power(scaling[0])
    if weight is None or scale is None:
        return None
    parts = [_added(loop, op, scale) for op in tile.users(scale)]
    sums = {part[0]: part[1].owner for part in parts if part is not None}
    totals = [n for n, part in sums.items() if isinstance(part, tile.SumOp) and part.body is weight]
    if len(sums) < len(parts) or len(totals) != 1:
        return None
    return OnlineState(place, totals[0], tuple(sums), scores[0], weight)


def _power(exponent: arith.SubfOp) -> SSAValue | None:
    """The one power that an exponent is made for."""
    users = tile.users(exponent.result)
    return users[0].results[0] if len(users) == 1 and isinstance(users[0], math.ExpOp | math.Exp2Op) else None


def _added(loop: tile.LoopOp, product: Operation, scale: SSAValue) -> tuple[int, SSAValue] | None:
    """The place of a carried sum that is rescaled, and what a turn adds to it."""
    arguments: list[SSAValue] = list(loop.body.block.args[1:])
    if not isinstance(product, arith.MulfOp) or product.rhs is not scale or product.lhs not in arguments:
        return None
    users, place = tile.users(product.result), arguments.index(product.lhs)
    alone = len(users) == 1 and tile.users(product.lhs) == [product]
    if not alone or not isinstance(users[0], arith.AddfOp) or loop.end.values[place] is not users[0].result:
        return None
    return place, users[0].rhs if users[0].lhs is product.result else users[0].lhs
