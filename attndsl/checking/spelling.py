"""How expressions are written: operators, precedence and parentheses, for people, in Python and in the IR.

Whoever holds an expression (typed, plain data, operations of the IR) spells its leaves and gives them to a style,
operator by operator. So there is one table of signs and of how tightly they bind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from attndsl.checking.symbolic import Expression

SELECT, OR, AND, NOT, COMPARISON, SUM, PRODUCT, NEGATION, ATOM = 0, 2, 4, 6, 8, 18, 20, 22, 40
"""How tightly things bind, the loosest first."""

INFIX: dict[str, tuple[str, int]] = {
    "or": ("or", OR),
    "and": ("and", AND),
    **{kind + name: (sign, COMPARISON) for kind in "ifb" for name, sign in (("eq", "=="), ("ne", "!="))},
    **{
        kind + name: (sign, COMPARISON)
        for kind in "if"
        for name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
    },
    "ior": ("|", 10),
    "ixor": ("^", 12),
    "iand": ("&", 14),
    "ishl": ("<<", 16),
    "ishr": (">>", 16),
    **{kind + name: (sign, SUM) for kind in "if" for name, sign in (("add", "+"), ("sub", "-"))},
    **{kind + name: (sign, PRODUCT) for kind in "if" for name, sign in (("mul", "*"), ("div", "/"))},
    "imod": ("%", PRODUCT),
}
"""The operators between two operands: their sign in the language, and how tightly it binds there and in Python."""

PREFIX: dict[str, tuple[str, int]] = {"not": ("not ", NOT), "ineg": ("-", NEGATION), "fneg": ("-", NEGATION)}
"""Those that stand before their operand."""

SELECTS = ("iselect", "fselect", "bselect")


class Spelled(NamedTuple):
    """The text of an expression, and how tightly it binds."""

    text: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The text where something around it binds at `level`: in parentheses if it binds less itself."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Style:
    """A notation: the operators that have signs, what the others are called, and how a choice between two is written.

    An operator that stands in no table is called by its own name. `select` has places for the condition, for what is
    chosen where it holds, and for what is chosen else.
    """

    infix: Mapping[str, tuple[str, int]]
    prefix: Mapping[str, tuple[str, int]]
    called: Mapping[str, str]
    select: Spelled | None = None
    truth: tuple[str, str] = ("false", "true")

    def apply(self, operator: str, operands: Sequence[Spelled]) -> Spelled:
        """An operator of `attndsl.checking.operators.OPERATORS` on operands, with the parentheses that they need."""
        if operator in self.infix:
            sign, level = self.infix[operator]
            left, right = operands
            # `a < b < c` is two comparisons.
            return Spelled(f"{left.within(level + (level == COMPARISON))} {sign} {right.within(level + 1)}", level)
        if operator in self.prefix:
            sign, level = self.prefix[operator]
            return Spelled(sign + operands[0].within(level), level)
        if operator in SELECTS and self.select is not None:
            condition, then, otherwise = operands
            texts = condition.within(OR), then.within(OR), otherwise.within(SELECT)
            return Spelled(self.select.text.format(*texts), self.select.level)
        name = self.called.get(operator, operator)
        return Spelled(f"{name}({', '.join(operand.text for operand in operands)})")

    def spell(self, expression: Expression, leaf: Callable[[str, str], str]) -> Spelled:
        """Plain data; `leaf` names what is no operator, by its kind (`dim`, `param`, `choice`) and its own name."""
        match expression:
            case ("dim" | "param" | "choice" as kind, str(name)):
                return Spelled(leaf(kind, name))
            case (str(operator), *operands):
                return self.apply(operator, [self.spell(operand, leaf) for operand in operands])
        assert not isinstance(expression, str | tuple), "an expression has a leaf that is neither a number nor named"
        return self.literal(expression)

    def literal(self, value: int | float | bool) -> Spelled:
        """A number or truth value."""
        text = self.truth[value] if isinstance(value, bool) else str(value)
        return Spelled(text, NEGATION if text.startswith("-") else ATOM)


LANGUAGE = Style(
    infix=INFIX,
    prefix=PREFIX,
    called={
        **{kind + name: name + "imum" for kind in "if" for name in ("min", "max")},
        **dict.fromkeys(("iabs", "fabs"), "abs"),
        "float": "f32",
    },
    select=Spelled("if {} then {} else {}", SELECT),
)
"""As a spec has it."""

_PYTHON = {**INFIX, "idiv": ("//", PRODUCT)}
_CALLED = {"imin": "min", "imax": "max", "iabs": "abs"}

PYTHON = Style(_PYTHON, PREFIX, _CALLED, Spelled("({1} if {0} else {2})"), truth=("False", "True"))
"""As Python has it, for expressions of integers; shifts by less than 0 raise there, and no sum wraps."""


def show(expression: Expression) -> str:
    """An expression as a person writes it in a spec, with the parentheses that it needs and no others."""
    return LANGUAGE.spell(expression, lambda _, name: name).text
