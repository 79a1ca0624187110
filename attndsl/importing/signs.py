"""Which indices are never negative: below 0 is from the end in torch, and out of range in the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from attndsl.importing.nodes import Traced

Form = tuple[dict[Traced, int], int]
"""A sum of nodes, each with a factor, and a number."""

DEPTH = 12


@dataclass
class NonNegative:
    """What is known to be 0 or more where a mask is true.

    `at_least` gives the value of a parameter; what was taken of it (`p >= 0`, `p > 0`) is kept in `needed`, for a
    `require`. `unsigned` says of a tensor that it holds nothing below 0.
    """

    facts: Sequence[Form]
    value_of: Callable[[str], int | float | bool]
    unsigned: Callable[[str], bool]
    needed: dict[str, int] = field(default_factory=dict)

    def holds(self, node: Traced) -> bool:
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

    def _atom(self, node: Traced, depth: int) -> bool:
        def holds(part: Traced) -> bool:
            return self._sum(linear(part), depth - 1)

        match node:
            case Traced("index" | "extent") | Traced("iabs"):
                return True
            case Traced("const", value=int(value)):
                return value >= 0
            case Traced("param", value=str(name)):
                return self._param(name, 0)
            case Traced("read", value=str(name)):
                return self.unsigned(name)
            case Traced("imul", parts=(a, b)):
                return holds(a) and holds(b)
            case Traced("idiv", parts=(a, b)):
                return holds(a) and self._positive(b)
            case Traced("imod", parts=(_, b)):
                return self._positive(b)
            case Traced("imax", parts=parts):
                return any(map(holds, parts))
            case Traced("imin", parts=parts) | Traced("iselect", parts=(_, *parts)):
                return all(map(holds, parts))
        return False

    def _positive(self, node: Traced) -> bool:
        match node:
            case Traced("const", value=int(value)):
                return value > 0
            case Traced("param", value=str(name)):
                return self._param(name, 1)
        return False

    def _param(self, name: str, least: int) -> bool:
        if self.value_of(name) < least:
            return False
        self.needed[name] = max(self.needed.get(name, 0), least)
        return True


def linear(node: Traced) -> Form:
    """A node as a sum."""
    match node:
        case Traced("const", "int", value=int(value)):
            return {}, value
        case Traced("iadd", parts=(a, b)):
            return _add(linear(a), linear(b), 1)
        case Traced("isub", parts=(a, b)):
            return _add(linear(a), linear(b), -1)
        case Traced("ineg", parts=(a,)):
            return _add(({}, 0), linear(a), -1)
        case Traced("imul", parts=(a, Traced("const", value=int(c)))) | Traced(
            "imul", parts=(Traced("const", value=int(c)), a)
        ):
            return _add(({}, 0), linear(a), c)
    return {node: 1}, 0


def facts_of(mask: Traced) -> Iterator[Form]:
    """What a mask says of ints: sums that are 0 or more where it is true."""
    match mask:
        case Traced("and", parts=parts):
            for part in parts:
                yield from facts_of(part)
        case Traced("ile", parts=(a, b)) | Traced("ige", parts=(b, a)):
            yield _add(linear(b), linear(a), -1)
        case Traced("ilt", parts=(a, b)) | Traced("igt", parts=(b, a)):
            terms, number = _add(linear(b), linear(a), -1)
            yield terms, number - 1
        case Traced("ieq", parts=(a, b)):
            yield _add(linear(b), linear(a), -1)
            yield _add(linear(a), linear(b), -1)


def _choices(node: Traced, factor: int) -> Iterator[tuple[bool, tuple[Traced, ...]]]:
    """What may stand for a node where a lower bound is looked for: one of them, or each of them."""
    if node.operator in ("imax", "imin"):
        yield (node.operator == "imax") == (factor > 0), node.parts
    if node.operator == "iselect":
        yield False, node.parts[1:]


def _with(terms: dict[Traced, int], number: int, node: Traced, factor: int, choice: Traced) -> Form:
    rest = {other: count for other, count in terms.items() if other is not node}
    return _add((rest, number), linear(choice), factor)


def _minus(form: Form, fact: Form) -> Form:
    return _add(form, fact, -1)


def _add(one: Form, other: Form, factor: int) -> Form:
    total = Counter(one[0])
    for node, count in other[0].items():
        total[node] += factor * count
    return {node: count for node, count in total.items() if count}, one[1] + factor * other[1]
