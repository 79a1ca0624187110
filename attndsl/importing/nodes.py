"""What a mod computes, as an expression: operators of the language over indices, parameters and captured tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["int", "float", "bool"]


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """An operator of `attndsl.checking.operators.OPERATORS` on `parts`, or one of these leaves:

    `const` (`value`), `index` (`value` is b, h, i or j), `score`, `param` (`value` is its name), `extent` (`value` is a
    tensor's name and an axis), and `read`, whose `value` is a tensor's name and whose parts are its subscripts.
    """

    operator: str
    kind: Kind
    parts: tuple[Traced, ...] = ()
    value: int | float | str | tuple[str, int] | None = None


@dataclass(slots=True)
class Nodes:
    """All nodes of a trace: equal expressions are one node."""

    _made: dict[object, Traced] = field(default_factory=dict)

    def leaf(self, operator: str, kind: Kind, value: int | float | str | tuple[str, int] | None = None) -> Traced:
        """A leaf."""
        return self._made.setdefault((operator, kind, type(value), value), Traced(operator, kind, (), value))

    def const(self, value: int | float | bool) -> Traced:
        """A number or truth value."""
        return self.leaf(
            "const", "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float", value
        )

    def read(self, tensor: str, kind: Kind, subscripts: tuple[Traced, ...]) -> Traced:
        """An element of a captured tensor."""
        key = ("read", tensor, *map(id, subscripts))
        return self._made.setdefault(key, Traced("read", kind, subscripts, tensor))

    def apply(self, operator: str, *parts: Traced) -> Traced:
        """An operator, without what needs no computing: `true and x`, `x + -3`, `not a < b`."""
        match operator, parts:
            case ("and", (Traced("const", value=value), other)) | ("and", (other, Traced("const", value=value))):
                return other if value else self.const(False)
            case ("or", (Traced("const", value=value), other)) | ("or", (other, Traced("const", value=value))):
                return self.const(True) if value else other
            case "not", (Traced(inner, parts=of),) if inner in _OPPOSITE:
                return self.apply(_OPPOSITE[inner], *of)
            case "not", (Traced("not", parts=(of,)),):
                return of
            case (("iadd" | "fadd" | "isub" | "fsub"), (left, Traced("const", value=int() | float() as value))) if (
                value < 0
            ):
                return self.apply(
                    operator[0] + ("sub" if operator.endswith("add") else "add"), left, self.const(-value)
                )
            case (("ineg" | "fneg"), (Traced("const", value=int() | float() as value),)):
                return self.const(-value)
            case (("ineg" | "fneg"), (Traced("ineg" | "fneg", parts=(of,)),)):
                return of
        return self._made.setdefault((operator, *map(id, parts)), Traced(operator, kind_of(operator), parts))


_OPPOSITE = {
    **{"i" + one: "i" + other for one, other in (("lt", "ge"), ("le", "gt"), ("gt", "le"), ("ge", "lt"))},
    **{kind + one: kind + other for kind in "ib" for one, other in (("eq", "ne"), ("ne", "eq"))},
}
"""What a comparison of ints becomes behind a `not`; one of floats does not, where one is NaN."""


def kind_of(operator: str) -> Kind:
    """The kind that an operator gives."""
    if operator in ("and", "or", "not", "bselect") or operator[1:] in ("eq", "ne", "lt", "le", "gt", "ge"):
        return "bool"
    return "int" if operator.startswith("i") else "float"


def walk(*roots: Traced) -> Iterator[Traced]:
    """Every node below, once, operands first."""
    seen: set[Traced] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))
