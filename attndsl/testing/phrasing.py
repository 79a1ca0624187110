"""Comparisons written in other ways."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.checking.typed import Apply, Spec
from attndsl.inputs.ranges import expressions
from attndsl.syntax import tree
from attndsl.testing.choices import Choices
from attndsl.testing.rewriting import nodes, parsed, written

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

DENIED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

COMPARISONS_OF_INTS = ("ieq", "ine", "ilt", "ile", "igt", "ige")


def turned(choices: Choices, spec: Spec) -> str | None:
    """The spec with `b > a` for each `a < b`."""
    return _compared(spec, lambda node, a, operator, b: f"({b} {MIRRORED[operator]} {a})")


def negated(choices: Choices, spec: Spec) -> str | None:
    """The spec with `not (a >= b)` for each `a < b` of ints: NaN is not less than a number, nor at least that."""
    ints = {e.span for e in expressions(*spec.blocks) if isinstance(e, Apply) and e.operator in COMPARISONS_OF_INTS}
    whole = {node.span for node in _comparisons(spec) if len(node.operators) == 1} & ints

    def deny(node: tree.Comparison, a: str, operator: str, b: str) -> str:
        return f"(not ({a} {DENIED[operator]} {b}))" if node.span in whole else f"({a} {operator} {b})"

    return _compared(spec, deny) if whole else None


def _comparisons(spec: Spec) -> list[tree.Comparison]:
    return [node for node in nodes(parsed(spec.source.text)) if isinstance(node, tree.Comparison)]


def _compared(spec: Spec, phrase: Callable[[tree.Comparison, str, str, str], str]) -> str | None:
    """The spec with what `phrase` makes of each two neighbours in a comparison; nothing where there is none."""
    text, attention = spec.source.text, parsed(spec.source.text)

    def change(node: tree.Node) -> str | None:
        if not isinstance(node, tree.Comparison):
            return None
        operands = [f"({written(text, operand, change)})" for operand in node.operands]
        pairs = zip(operands, node.operators, operands[1:], strict=False)
        return f"({' and '.join(phrase(node, *pair) for pair in pairs)})"

    if not any(isinstance(node, tree.Comparison) for node in nodes(attention)):
        return None
    return text[: attention.span.start] + written(text, attention, change) + text[attention.span.end :]
