"""Which indices are never negative: below 0 is from the end in torch, and out of range in the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from attndsl.importing.nodes import Node

Form = tuple[dict[Node, int], int]
"""A sum of nodes, each with a factor, and a number."""

DEPTH = 12


@dataclass
class Signs:
    """What is known to be 0 or more where a mask is true.

    `at_least` gives the value of a parameter; what was taken of it (`p >= 0`, `p > 0`) is kept in `needed`, for a
    `require`. `unsigned` says of a tensor that it holds nothing below 0.
    """

    facts: Sequence[Form]
    value_of: Callable[[str], int | float | bool]
    unsigned: Callable[[str], bool]
    needed: dict[str, int] = field(default_factory=dict)

    def holds(self, node: Node) -> bool:
        """Whether an int is proved to be 0 or more."""
        before = dict(self.needed)
        if self._sum(linear(node), DEPTH):
            return True
        self.needed = before
        return False

    def _sum(self, form: Form, depth: int) -> bool:
        """A sum: each term is, or it is what a fact says, and something that is."""
        if depth == 0:
            return False
        terms, number = form
        for node, factor in terms.items():
            for any_of, choices in _choices(node, factor):
                forms = [_with(terms, number, node, factor, choice) for choice in choices]
                if (any if any_of else all)(self._sum(each, depth - 1) for each in forms):
                    return True
        if number >= 0 and all(factor > 0 and self._atom(node, depth) for node, factor in terms.items()):
            return True
        for fact in self.facts:
            rest = _minus(form, fact)
            if len(rest[0]) < len(terms) and self._sum(rest, depth - 1):
                return True
        return False

    def _atom(self, node: Node, depth: int) -> bool:
        def holds(part: Node) -> bool:
            return self._sum(linear(part), depth - 1)

        match node:
            case Node("index" | "extent") | Node("iabs"):
                return True
            case Node("const", value=int(value)):
                return value >= 0
            case Node("param", value=str(name)):
                return self._param(name, 0)
            case Node("read", value=str(name)):
                return self.unsigned(name)
            case Node("imul", parts=(a, b)):
                return holds(a) and holds(b)
            case Node("idiv", parts=(a, b)):
                return holds(a) and self._positive(b)
            case Node("imod", parts=(_, b)):
                return self._positive(b)
            case Node("imax", parts=parts):
                return any(map(holds, parts))
            case Node("imin", parts=parts) | Node("iselect", parts=(_, *parts)):
                return all(map(holds, parts))
        return False

    def _positive(self, node: Node) -> bool:
        match node:
            case Node("const", value=int(value)):
                return value > 0
            case Node("param", value=str(name)):
                return self._param(name, 1)
        return False

    def _param(self, name: str, least: int) -> bool:
        if self.value_of(name) < least:
            return False
        self.needed[name] = max(self.needed.get(name, 0), least)
        return True


def linear(node: Node) -> Form:
    """A node as a sum."""
    match node:
        case Node("const", "int", value=int(value)):
            return {}, value
        case Node("iadd", parts=(a, b)):
            return _add(linear(a), linear(b), 1)
        case Node("isub", parts=(a, b)):
            return _add(linear(a), linear(b), -1)
        case Node("ineg", parts=(a,)):
            return _add(({}, 0), linear(a), -1)
        case Node("imul", parts=(a, Node("const", value=int(c)))) | Node(
            "imul", parts=(Node("const", value=int(c)), a)
        ):
            return _add(({}, 0), linear(a), c)
    return {node: 1}, 0


def facts_of(mask: Node) -> Iterator[Form]:
    """What a mask says of ints: sums that are 0 or more where it is true."""
    match mask:
        case Node("and", parts=parts):
            for part in parts:
                yield from facts_of(part)
        case Node("ile", parts=(a, b)) | Node("ige", parts=(b, a)):
            yield _add(linear(b), linear(a), -1)
        case Node("ilt", parts=(a, b)) | Node("igt", parts=(b, a)):
            terms, number = _add(linear(b), linear(a), -1)
            yield terms, number - 1
        case Node("ieq", parts=(a, b)):
            yield _add(linear(b), linear(a), -1)
            yield _add(linear(a), linear(b), -1)


def _choices(node: Node, factor: int) -> Iterator[tuple[bool, tuple[Node, ...]]]:
    """What may stand for a node where a lower bound is looked for: one of them, or each of them."""
    if node.operator in ("imax", "imin"):
        yield (node.operator == "imax") == (factor > 0), node.parts
    if node.operator == "iselect":
        yield False, node.parts[1:]


def _with(terms: dict[Node, int], number: int, node: Node, factor: int, choice: Node) -> Form:
    rest = {other: count for other, count in terms.items() if other is not node}
    return _add((rest, number), linear(choice), factor)


def _minus(form: Form, fact: Form) -> Form:
    return _add(form, fact, -1)


def _add(one: Form, other: Form, factor: int) -> Form:
    total = Counter(one[0])
    for node, count in other[0].items():
        total[node] += factor * count
    return {node: count for node, count in total.items() if count}, one[1] + factor * other[1]
