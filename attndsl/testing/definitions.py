"""Definitions written out where they are used, and expressions given a name."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.checking.typed import Spec
from attndsl.syntax import tree
from attndsl.testing.choices import Choices
from attndsl.testing.renaming import words_of
from attndsl.testing.rewriting import free_names, parsed, parts, written

Defining = tree.Let | tree.Definition | tree.WriteStatement

Composed = tree.Binary | tree.Unary | tree.Subscripted | tree.Call | tree.Conditional | tree.Comparison


def inlined(choices: Choices, spec: Spec) -> str | None:
    """The spec with the right side of a definition in the place of its name."""
    text, attention = spec.source.text, parsed(spec.source.text)
    options = [
        (let, uses)
        for let in attention.statements
        if isinstance(let, tree.Let | tree.Definition) and not (isinstance(let, tree.Let) and let.params)
        if (uses := _uses(attention, let)) is not None
    ]
    if not options:
        return None
    let, uses = choices.of(options)
    value = text[let.value.span.start : let.value.span.end]

    def change(node: tree.Node) -> str | None:
        return "" if node is let else f"({value})" if node in uses else None

    return text[: attention.span.start] + written(text, attention, change) + text[attention.span.end :]


def _uses(attention: tree.AttentionNode, let: tree.Let | tree.Definition) -> list[tree.Node] | None:
    """Where a definition is used; nothing where its right side cannot stand in one of these places."""
    free = free_names(let.value)
    found: list[tree.Node] = []
    for statement in _in_sight(attention, let):
        for node, bound in _with_bound(statement, frozenset()):
            if isinstance(node, tree.Reference | tree.Subscripted) and node.name.text == let.name.text:
                if isinstance(node, tree.Subscripted) or bound & free:
                    return None
                found.append(node)
    return found


def _in_sight(attention: tree.AttentionNode, let: tree.Statement) -> list[tree.Statement]:
    """The statements that a definition holds for: of its block, or all that follow where it is in none."""
    statements = attention.statements
    first = statements.index(let)
    outside = not any(isinstance(each, tree.Each) for each in statements[:first])
    rest = statements[first + 1 :]
    ends = [number for number, each in enumerate(rest) if isinstance(each, tree.Each) and not outside]
    return [*rest[: ends[0] if ends else None]]


def named(choices: Choices, spec: Spec) -> str | None:
    """The spec with a definition before a statement that stands for an expression in it."""
    text, attention = spec.source.text, parsed(spec.source.text)
    options = [
        (statement, node)
        for statement in attention.statements
        if isinstance(statement, Defining)
        for node, bound in _with_bound(statement, frozenset())
        if isinstance(
            node, tree.Binary | tree.Unary | tree.Subscripted | tree.Call | tree.Conditional | tree.Comparison
        )
        if not bound & free_names(node) and not (isinstance(node, tree.Call) and node.function.text == "softmax")
    ]
    if not options:
        return None
    chosen, expr = choices.of(options)
    name, taken = "named", words_of(text)
    while name in taken:
        name += "_"

    def change(node: tree.Node) -> str | None:
        if node is chosen:
            body = text[expr.span.start : expr.span.end]
            inside = written(text, node, lambda part: name if part is expr else None)
            return f"let {name} = {body}\n    {inside}"
        return None

    return text[: attention.span.start] + written(text, attention, change) + text[attention.span.end :]


def _with_bound(node: tree.Node, bound: frozenset[str]) -> Iterator[tuple[tree.Node, frozenset[str]]]:
    """A node and all in it, each with the names that sums and definitions around it have bound."""
    yield node, bound
    match node:
        case tree.AxisReduction(axes=axes):
            inside = bound | {axis.name.text for axis in axes}
        case tree.Let(params=params):
            inside = bound | {param.name.text for param in params if not isinstance(param, tree.WholeParam)}
        case _:
            inside = bound
    for part in parts(node):
        yield from _with_bound(part, inside)
