"""A spec with other names for its names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attndsl.checking.layouts import LAYOUT
from attndsl.syntax import tree
from attndsl.testing.rewriting import nodes, parsed, written

RESERVED = frozenset(
    {"attention", "dims", "types", "input", "output", "require", "schedule", "each", "over", "in", "up", "to", "let"}
    | {"if", "then", "else", "and", "or", "not", "sum", "true", "false"}
)
"""Words that are no names."""

BUILT_IN = frozenset({"inf", "score", "mask"})
"""Names that mean something by themselves."""


def names_of(text: str) -> tuple[str, ...]:
    """The names that a spec's author chose, in the order of the text."""
    attention = parsed(text)
    fixed = _fixed(attention)
    found = (node.text for node in nodes(attention) if isinstance(node, tree.Name) and node not in fixed)
    return tuple(dict.fromkeys(name for name in found if name not in BUILT_IN))


def words_of(text: str) -> set[str]:
    """All names of a spec, those of functions, element types and settings among them."""
    return {node.text for node in nodes(parsed(text)) if isinstance(node, tree.Name)}


def with_names(text: str, names: Mapping[str, str]) -> str:
    """The spec with other names for some that its author chose; no two may become one."""
    attention = parsed(text)
    fixed = _fixed(attention)

    def change(node: tree.Node) -> str | None:
        if not isinstance(node, tree.Name):
            return None
        return node.text if node in fixed else names.get(node.text, node.text)

    span = attention.span
    return text[: span.start] + written(text, attention, change) + text[span.end :]


def _fixed(attention: tree.AttentionNode) -> set[tree.Name]:
    """The names that are not the author's to choose: of functions, element types, settings."""
    statements = attention.statements
    variables = {v.name.text for each in statements if isinstance(each, tree.Types) for v in each.variables}
    return {name for node in nodes(attention) for name in _given(node, variables)}


def _given(node: tree.Node, variables: set[str]) -> Iterable[tree.Name]:
    match node:
        case tree.Call(function=name) | tree.AxisReduction(function=name):
            return (name,)
        case tree.KeywordArgument(name=name) | tree.Definition(name=name) | tree.Parameter(type=name):
            return (name,)
        case tree.Setting(name=name, value=tree.Name() as value) if name.text != LAYOUT:
            return name, value
        case tree.Setting(name=name):
            return (name,)
        case tree.TensorDeclaration(element=name) if name.text not in variables:
            return (name,)
        case tree.TypeVariable(choices=choices):
            return choices
    return ()
