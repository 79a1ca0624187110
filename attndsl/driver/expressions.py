"""Integer, real and truth-valued expressions as plain data, and what they are worth.

A number stands for itself, `("dim", "B")` and `("param", "window")` for what a call gives, and
`("iadd", left, right)` for a row of `attndsl.checking.operators.OPERATORS`. Nested tuples become lists in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attndsl.checking.extents import Line, Term, combine
from attndsl.checking.numbers import MEANINGS

Expression = int | float | bool | str | tuple["Expression", ...]
"""An expression; a string stands only in first place of a tuple, or as the name of a dim or a parameter."""

Values = Mapping[str, Any]


def evaluate(expression: Expression, dims: Values, params: Values) -> Any:
    """What an expression is worth for these dims and parameters.

    `and`, `or` and `if` evaluate what they reach. Raises ZeroDivisionError where an integer is divided by zero.
    """
    match expression:
        case ("dim", str(name)):
            return dims[name]
        case ("param", str(name)):
            return params[name]
        case ("and", left, right):
            return evaluate(left, dims, params) and evaluate(right, dims, params)
        case ("or", left, right):
            return evaluate(left, dims, params) or evaluate(right, dims, params)
        case ("iselect" | "fselect" | "bselect", condition, then, otherwise):
            return evaluate(then if evaluate(condition, dims, params) else otherwise, dims, params)
        case ("beq" | "bne" as name, left, right):  # torch compares no truth values that are symbolic
            return MEANINGS[name](bool(evaluate(left, dims, params)), bool(evaluate(right, dims, params)))
        case (str(name), *operands):
            return MEANINGS[name](*(evaluate(operand, dims, params) for operand in operands))
        case _:
            return expression


def show(expression: Expression, precedence: int = 0) -> str:
    """An expression as a person writes it, with the parentheses that it needs and no others."""
    match expression:
        case ("dim" | "param", str(name)):
            return name
        case ("iselect" | "fselect" | "bselect", condition, then, otherwise):
            text, own = f"if {show(condition, 2)} then {show(then, 2)} else {show(otherwise)}", 1
        case ("not", operand):
            text, own = f"not {show(operand, 4)}", 4
        case ("ineg" | "fneg", operand):
            text, own = f"-{show(operand, NEGATION)}", NEGATION
        case (str(name), left, right) if name in INFIX:
            sign, own = INFIX[name]
            # `a < b < c` is two comparisons.
            text = f"{show(left, own + (own == COMPARISON))} {sign} {show(right, own + 1)}"
        case (str(name), *operands):
            return f"{CALLS.get(name, name)}({', '.join(map(show, operands))})"
        case bool():
            return str(expression).lower()
        case int() | float():
            text, own = str(expression), NEGATION if expression < 0 else precedence
        case _:
            return str(expression)
    return f"({text})" if own < precedence else text


def names(expression: Expression) -> Iterator[str]:
    """The dims and parameters in an expression, from left to right, as often as they stand in it."""
    match expression:
        case ("dim" | "param", str(name)):
            yield name
        case (str(), *operands):
            for operand in operands:
                yield from names(operand)


def line_of(expression: Expression) -> Term:
    """An extent as far as it is of one dim."""
    match expression:
        case ("dim", str(name)):
            return Line(name)
        case (str(operator), *operands):
            return combine(operator, [line_of(operand) for operand in operands])
        case int():
            return expression
    return None


COMPARISON, NEGATION = 5, 12
"""How tightly comparisons bind, and a minus before its operand."""

INFIX = {
    "or": ("or", 2),
    "and": ("and", 3),
    **{kind + name: (sign, COMPARISON) for kind in "ifb" for name, sign in (("eq", "=="), ("ne", "!="))},
    **{
        kind + name: (sign, COMPARISON)
        for kind in "if"
        for name, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
    },
    "ior": ("|", 6),
    "ixor": ("^", 7),
    "iand": ("&", 8),
    "ishl": ("<<", 9),
    "ishr": (">>", 9),
    **{kind + name: (sign, 10) for kind in "if" for name, sign in (("add", "+"), ("sub", "-"))},
    **{kind + name: (sign, 11) for kind in "if" for name, sign in (("mul", "*"), ("div", "/"))},
    "imod": ("%", 11),
}
"""How the operators between two operands are written, and how tightly they bind."""

CALLS = {
    **{kind + name: name + "imum" for kind in "if" for name in ("min", "max")},
    **dict.fromkeys(("iabs", "fabs"), "abs"),
    "float": "f32",
}
"""The functions whose name in the language is another than the operator's."""
