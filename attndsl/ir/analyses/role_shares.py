"""How consumers share out sums: which of them each has, what it stores, and what of a row the first hands on.

A row of 512 features of values has more sums than the registers of one group of warps hold. Then all groups of a
program have the same rows. The first makes scores and weights, and hands these on; each multiplies them with its own
columns of values (FlashMLA: DeepSeek-AI, github.com/deepseek-ai/FlashMLA, 2025).
"""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.ir import tile
from attndsl.ir.analyses.role_parts import CONSUMERS, NoRoles, Roled, Summed, features_of
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Operation, SSAValue, scf


def shares_of(found: Roled) -> tuple[tuple[Summed, ...], ...]:
    """The sums of each consumer, as evenly as pieces of features allow, the most the last; none where there is one."""
    shares: list[list[Summed]] = [[] for _ in range(CONSUMERS)]
    for each in sorted(found.summing, key=lambda each: -features_of([each])):
        min(shares, key=features_of).append(each)
    order = [each.state for each in found.summing]
    shares = [sorted(share, key=lambda each: order.index(each.state)) for share in sorted(shares, key=features_of)]
    return tuple(map(tuple, shares)) if all(shares) else ()


def after_loops(found: Roled) -> list[Operation]:
    """The operations that follow the last loop over keys."""
    block = found.folded.parent
    assert block is not None
    ops = [op for op in block.ops if not isinstance(op, tile.STATEMENTS)]
    return ops[ops.index(found.folded) + 1 :]


def stores_of(found: Roled) -> dict[tile.StoreOp, int]:
    """Whose each store is, by the sums that it rests on; the first one's where it rests on none. Raises NoRoles."""
    owner = {each.state: n for n, share in enumerate(found.shares) for each in share}
    stores = dict[tile.StoreOp, int]()
    for op in after_loops(found):
        if isinstance(op, tile.StoreOp):
            owners = {owner[n] for n in states_of(op.operands, found) if n in owner}
            if len(owners) > 1:
                raise NoRoles("a result rests on all sums of a row, which consumers share out")
            stores[op] = min(owners, default=0)
        elif any(isinstance(each, tile.StoreOp) for each in operations(op)):
            raise NoRoles("what is written rests on a condition, and consumers share out sums")
    return stores


def handed_on(found: Roled) -> list[int]:
    """Which values that the first consumer carries others need after the loops. Raises NoRoles."""
    axes, row = AxesAnalysis(), {found.row_axis.result}
    factors = [each.factor for share in found.shares[1:] for each in share if each.factor is not None]
    if any(axes(factor) != row for factor in factors):
        raise NoRoles("what sums are multiplied with is no number of each row, and consumers share out sums")
    needed = {n for store, owner in stores_of(found).items() if owner for n in states_of(store.operands, found)}
    handed = sorted(needed.intersection(found.kept))
    if any(axes(found.folded.results[n]) != row for n in handed):
        raise NoRoles("what a loop carries beside sums is no number of each row")
    return handed


def states_of(values: Iterable[SSAValue], found: Roled) -> set[int]:
    """Which values that the loop carries others rest on that stand behind it, such as those that a store takes.

    A choice that goes on with the sums of the loop, or makes them again, gives each for itself: which it is, each
    consumer asks of its own.
    """
    results, after = list[SSAValue](found.folded.results), set(after_loops(found))
    states, seen = set[int](), set[SSAValue]()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if value in seen:
            continue
        seen.add(value)
        if value in results:
            states.add(results.index(value))
        elif isinstance(owner, Operation) and owner in after:
            if isinstance(owner, scf.IfOp) and goes_on(owner):
                end = owner.true_region.block.last_op
                assert end is not None
                waiting.append(end.operands[owner.results.index(value)])
            else:
                waiting += [operand for each in (owner, *operations(owner)) for operand in each.operands]
    return states


def goes_on(choice: scf.IfOp) -> bool:
    """Whether a choice goes on with what there is, or makes it again."""
    return all(isinstance(op, scf.YieldOp) for op in choice.true_region.block.ops)
