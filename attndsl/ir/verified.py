"""Verifying a module: what xDSL's verifier finds, in two thirds of its time."""

from __future__ import annotations

from attndsl.ir.xdsl import Operation, arith, math

LOOKED_AT_ONCE = frozenset((*arith.Arith.operations, *math.Math.operations)) - {arith.ConstantOp}
"""Operations of which the verifier looks at types and properties alone, which are few: of constants there is no end."""

_sound: set[tuple[object, ...]] = set()


def verify(op: Operation) -> None:
    """Raises VerifyException or ValueError where an operation, or what it holds, is not well formed.

    Most operations are arithmetic: one whose like has been verified before is not looked at again.
    """
    key = _looked_at(op) if type(op) in LOOKED_AT_ONCE and not op.regions and op.next_op is not None else None
    if key in _sound:
        return
    for region in op.regions:
        for block in region.blocks:
            child = block.first_op
            if child is None or block.parent is not region:
                block.verify()
            while child is not None:
                if child.parent is not block:
                    raise ValueError(f"{child.name} stands in a block that is not its own")
                verify(child)
                child = child.next_op
    op.verify(verify_nested_ops=False)
    if key is not None:
        _sound.add(key)


def _looked_at(op: Operation) -> tuple[object, ...]:
    """All that the verifier looks at of an arithmetic operation which does not end its block."""
    operands = [part for value in op.operands for part in (type(value), value.type)]  # a value may have been erased
    types = [value.type for value in op.results]
    return (type(op), *operands, *types, *op.properties.items(), *op.attributes.items())
