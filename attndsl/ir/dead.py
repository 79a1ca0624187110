"""What may go when nothing uses it: asked once of each type of operation, whose traits xDSL looks through each time."""

from __future__ import annotations

from functools import cache

from attndsl.ir.xdsl import (
    IsTerminator,
    MemoryEffect,
    NoMemoryEffect,
    Operation,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)


def is_pure(op: Operation) -> bool:
    """Whether all that an operation does is to give results."""
    pure = _is_pure(type(op))
    if pure is not None:
        return pure
    return all(is_pure(child) for region in op.regions for block in region.blocks for child in block.ops)


def is_dead(op: Operation) -> bool:
    """Whether nothing changes when an operation goes."""
    for result in op.results:  # quicker than `all`: asked of every operation, time and again
        if result.first_use is not None:
            return False
    return not _stays(type(op)) and is_pure(op)


def remove_dead(op: Operation) -> None:
    """Removes the operations in another whose results nothing uses.

    Each block from its end: what uses a value stands after it, or in something that does.
    """
    for region in op.regions:
        for block in region.blocks:
            child = block.last_op
            while child is not None:
                before = child.prev_op
                if is_dead(child):
                    block.erase_op(child)
                elif child.regions:
                    remove_dead(child)
                child = before


@cache
def _is_pure(kind: type[Operation]) -> bool | None:
    """Whether operations of a type are pure; None where it is for what they hold to say."""
    effects = [trait for trait in kind.traits if isinstance(trait, MemoryEffect)]
    if any(isinstance(effect, RecursiveMemoryEffect) for effect in effects):
        return None
    return bool(effects) and all(isinstance(effect, NoMemoryEffect) for effect in effects)


@cache
def _stays(kind: type[Operation]) -> bool:
    """Whether operations of a type have another use than their results."""
    return kind.has_trait(IsTerminator) or kind.has_trait(SymbolOpInterface)
