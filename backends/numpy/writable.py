"""Which arrays may be written over: those that an expression made, at the last place where they are read."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.backends.numpy.pointwise import NUMPY_SPELLINGS
from attndsl.ir import tile
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf

VIEWS = (tile.BroadcastOp, tile.FlattenOp)
"""What NumPy gives a view for of the array of its first operand."""


def is_writable(value: SSAValue, op: Operation) -> bool:
    """Whether an operation may write over the array of a value: it was made for it, and nothing reads it afterwards."""
    return _is_new(value) and all(is_last_use(each, op) for each in sharing(value, op))


def _is_new(value: SSAValue) -> bool:
    """Whether a value's array was made by an expression, its own or what a choice passes on: it views no tensor."""
    op = value.owner
    if isinstance(op, tile.FusedOp):
        return _is_new(op.made(value))
    if isinstance(op, scf.IfOp):
        number = op.results.index(value)
        ends = [region.block.last_op for region in op.regions]
        return all(_is_new(end.operands[number]) for end in ends if end is not None)
    return isinstance(op, tile.DotOp | tile.MaskOp) or type(op) in NUMPY_SPELLINGS


def mask_of(value: SSAValue) -> tile.MaskOp | None:
    """The operation that masks a part of an array to make a value, by itself or as all that is fused."""
    owner = value.owner
    if isinstance(owner, tile.FusedOp):
        owner = owner.made(value).owner
    return owner if isinstance(owner, tile.MaskOp) else None


def sharing(value: SSAValue, op: Operation) -> Iterator[SSAValue]:
    """The values that may have the array of one when an operation reads it, of those that could be read afterwards.

    A choice passes on what was there before, and so do others before it; a view shows what it is of.
    """
    found, left = {value}, [value]
    while left:
        one = left.pop()
        if isinstance(choice := one.owner, scf.IfOp):
            ends = [end for region in choice.regions if (end := region.block.last_op) is not None]
            linked = [end.operands[choice.results.index(one)] for end in ends]
        else:
            linked = [*one.owner.operands[:1]] if isinstance(one.owner, VIEWS) else []
        for use in one.uses:
            choice = use.operation.parent_op()
            if isinstance(use.operation, VIEWS):
                linked.append(use.operation.results[0])
            elif isinstance(use.operation, scf.YieldOp) and isinstance(choice, scf.IfOp) and not choice.is_ancestor(op):
                linked.append(choice.results[use.index])
        left += [each for each in linked if each not in found]
        found.update(linked)
    yield from (each for each in found if (block := each.owner.parent) is not None and block.is_ancestor(op))


def is_last_use(value: SSAValue, op: Operation) -> bool:
    """Whether nothing reads a value once `op` has, which reads it: in a later turn of a loop neither."""
    owner = value.owner
    around: dict[Block, Operation] = {}
    last: Operation | None = op
    while last is not None and last.parent is not None:
        around[last.parent] = last
        if isinstance(owner, Operation) and last.parent is owner.parent:
            return all(_is_earlier(user, around) for user in tile.users(value))
        last = last.parent_op() if isinstance(last.parent_op(), scf.IfOp | tile.FusedOp) else None
    return False


def _is_earlier(user: Operation, around: dict[Block, Operation]) -> bool:
    """Whether an operation is, or comes before, or stands in, what stands in its block of those `around` another."""
    while user.parent not in around:
        above = user.parent_op()
        assert above is not None
        user = above
    last = around[user.parent]
    return user is last or user.is_before_in_block(last)
