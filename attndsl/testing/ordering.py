"""A spec with its statements in another order, which means the same: a name is defined before it is used.

What a block adds to one tensor keeps its order: sums are rounded in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attndsl.syntax import tree
from attndsl.testing.rewriting import defined_names, free_names, parsed

DECLARATIONS = (tree.Dims, tree.Types, tree.TensorDeclaration, tree.Require, tree.Schedule)
"""Statements that belong to no block, wherever they stand."""


def reordered(text: str, choose: Callable[[Sequence[int]], int]) -> str:
    """The spec with the statement next that `choose` takes of those that may come next, as often as there are several.

    It is given their numbers in the text, and gives one. A block keeps its place among the blocks, and what follows
    its `over` does so still.
    """
    attention = parsed(text)
    statements = attention.statements
    before = _prerequisites(statements)
    left, order = [*range(len(statements))], list[int]()
    while left:
        ready = [number for number in left if before[number].isdisjoint(left)]
        number = choose(ready) if len(ready) > 1 else ready[0]
        left.remove(number)
        order.append(number)
    spans = [statements[number].span for number in order]
    first, last = statements[0].span.start, statements[-1].span.end
    return text[:first] + "\n    ".join(text[span.start : span.end] for span in spans) + text[last:]


def _prerequisites(statements: Sequence[tree.Statement]) -> list[set[int]]:
    """For each statement, the numbers of those that stand before it in any order."""
    found: list[set[int]] = []
    outside: dict[str, int] = {}  # where a name is defined for all blocks
    inside: dict[str, int] = {}  # and for this one
    opening: set[int] = set()  # what this block began with
    block: set[int] = set()  # all of it so far
    added: dict[str, int] = {}  # where it added to a tensor last
    for number, statement in enumerate(statements):
        known = {**outside, **inside}
        needed = {known[name] for name in free_names(statement) if name in known}
        if isinstance(statement, DECLARATIONS):
            outside |= dict.fromkeys(defined_names(statement), number)
        elif isinstance(statement, tree.Each):
            needed |= block
            opening, block, inside = {number}, {number}, dict.fromkeys(defined_names(statement), number)
            added = {}
        else:
            needed |= opening
            block.add(number)
            if isinstance(statement, tree.WriteStatement) and statement.adds:
                name = statement.name.text
                needed |= {added[name]} if name in added else set()
                added[name] = number
            if isinstance(statement, tree.Over):
                opening = opening | {number}
            names = inside if opening else outside
            names |= dict.fromkeys(defined_names(statement), number)
        found.append(needed)
    return found
