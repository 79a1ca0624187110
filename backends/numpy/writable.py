"""Which arrays may be written over: those that an expression made, at the last place where they are read."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.backends.numpy.pointwise import NUMPY_SPELLINGS
from attndsl.ir import tile
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf


def is_writable(value: SSAValue, op: Operation) -> bool:
    """Whether an operation that reads a value last may write over its array, which is nothing else's."""
    return _is_new(value) and all(is_last_use(each, op) for each in _sharing(value))


def _is_new(value: SSAValue) -> bool:
    """Whether a value's array is its own: no view of a tensor, and none of another array."""
    op = value.owner
    if isinstance(op, tile.FusedOp):
        return _is_new(op.made(value))
    if isinstance(op, scf.IfOp):
        number = op.results.index(value)
        ends = [region.block.last_op for region in op.regions]
        return all(_is_new(end.operands[number]) for end in ends if end is not None)
    return isinstance(op, tile.DotOp | tile.MaskOp) or type(op) in NUMPY_SPELLINGS


def _sharing(value: SSAValue) -> Iterator[SSAValue]:
    """A value, and those whose array it may be: a choice passes on what was there before."""
    yield value
    if isinstance(op := value.owner, scf.IfOp):
        for region in op.regions:
            if (end := region.block.last_op) is not None:
                shared = _sharing(end.operands[op.results.index(value)])
                yield from (each for each in shared if each.owner.parent is not region.block)


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
