"""The text of an extent, as the IR writes and reads it: an integer made of dims, by any operator of the language.

Signs and precedence are Python's, and mean what the language says: `//` rounds down, integers have 64 bits. What has no
sign in `STYLE` is called by its name in `attndsl.checking.operators`: `iselect(igt(B, 2), B, 3)`. A dim goes by its own
name, whatever that is elsewhere; other leaves say what they are: `param(window)`, `choice(SPLITS)`.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace

from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import PYTHON, Style
from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import Kind

STYLE = Style(
    infix={name: row for name, row in PYTHON.infix.items() if OPERATORS[name].gives is Kind.INT},
    prefix={"ineg": PYTHON.prefix["ineg"]},
    called={name: called for name, called in PYTHON.called.items() if OPERATORS[name].gives is Kind.INT},
)

CONDITIONS = replace(
    STYLE, infix={**STYLE.infix, **{name: PYTHON.infix[name] for name in ("and", "ilt", "ile", "igt", "ige")}}
)
"""That of conditions, in which integers are compared by their signs."""

_SIGNS = {sign: (operator, level) for operator, (sign, level) in CONDITIONS.infix.items()}
_IN_EXTENTS = frozenset(sign for sign, _ in STYLE.infix.values())
_MINUS, _NEGATION = STYLE.prefix["ineg"]
_NAMED = {called: operator for operator, called in STYLE.called.items()}
_LEAVES = ("param", "choice")
_TRUTH = dict(zip(STYLE.truth, (False, True), strict=True))
_TOKEN = re.compile(rf"\s*(\d+|\w+|{'|'.join(map(re.escape, (*sorted(_SIGNS, key=len, reverse=True), *'(),')))})")


def extent_text(extent: Expression) -> str:
    """An extent as the IR writes it."""
    return STYLE.spell(extent, _leaf_text).text


def condition_text(condition: Expression) -> str:
    """A condition as the IR writes it."""
    return CONDITIONS.spell(condition, _leaf_text).text


def _leaf_text(kind: str, name: str) -> str:
    return name if kind == "dim" else f"{kind}({name})"


def parse_extent(text: str) -> Expression:
    """The extent that `extent_text` writes so. Raises ValueError where there is none."""
    try:
        extent = _Reader(text, _IN_EXTENTS).extent()
        kind = kind_of(extent)
    except (IndexError, RecursionError, ValueError):
        raise ValueError(f"the extent {text!r} cannot be read") from None
    if kind is not Kind.INT:
        raise ValueError(f"the extent {text!r} is more than arithmetic on dims")
    return extent


def parse_condition(text: str) -> Expression:
    """The condition that `condition_text` writes so. Raises ValueError where there is none."""
    try:
        condition = _Reader(text, _SIGNS).extent()
        kind = kind_of(condition)
    except (IndexError, RecursionError, ValueError):
        raise ValueError(f"the condition {text!r} cannot be read") from None
    if kind is not Kind.BOOL:
        raise ValueError(f"{text!r} is no condition on dims and parameters")
    return condition


def kind_of(expression: Expression) -> Kind | None:
    """What an expression is; None where an operator has other operands than it takes."""
    match expression:
        case bool():
            return Kind.BOOL
        case int() | ("dim" | "param" | "choice", str()):
            return Kind.INT
        case (str(operator), *operands) if operator in OPERATORS:
            row = OPERATORS[operator]
            fits = len(operands) == len(row.takes) and all(map(_is, operands, row.takes))
            return row.gives if fits else None
    return None


def _is(expression: Expression, kind: Kind) -> bool:
    """Whether an expression is of a kind; what a parameter is its declaration says."""
    match expression:
        case ("param", str()):
            return kind is not Kind.FLOAT
    return kind_of(expression) is kind


class _Reader:
    """Reads from left to right, by how tightly signs bind (Pratt, "Top down operator precedence", 1973).

    Raises ValueError where something stands that no expression has there, IndexError where the text ends too early.
    """

    def __init__(self, text: str, signs: Container[str]) -> None:
        self._signs = signs
        found, end = [], 0
        while token := _TOKEN.match(text, end):
            found.append(token[1])
            end = token.end()
        self._tokens = [*found, *text[end:].split()][::-1]  # the next one last

    def extent(self) -> Expression:
        """All of the text."""
        extent = self._expression()
        if self._tokens:
            raise ValueError
        return extent

    def _expression(self, level: int = 0) -> Expression:
        """The longest expression in which no sign binds less than `level`."""
        left = self._operand()
        while self._tokens and self._tokens[-1] in self._signs and (row := _SIGNS[self._tokens[-1]])[1] >= level:
            self._tokens.pop()
            left = (row[0], left, self._expression(row[1] + 1))
        return left

    def _operand(self) -> Expression:
        token = self._tokens.pop()
        if token.isdecimal():
            return int(token)
        if token == _MINUS:
            if self._tokens[-1].isdecimal():
                return -int(self._tokens.pop())
            return ("ineg", self._expression(_NEGATION))
        if token == "(":
            operand = self._expression()
            self._expect(")")
            return operand
        if not token.isidentifier():
            raise ValueError
        return self._call(token) if self._tokens[-1:] == ["("] else _TRUTH.get(token, ("dim", token))

    def _call(self, name: str) -> Expression:
        """An operator and its operands, or a leaf that is no dim."""
        self._expect("(")
        if name in _LEAVES:
            leaf: Expression = (name, self._tokens.pop())
            self._expect(")")
            return leaf
        operands: list[Expression] = []
        while self._tokens[-1] != ")":
            if operands:
                self._expect(",")
            operands.append(self._expression())
        self._expect(")")
        return (_NAMED.get(name, name), *operands)

    def _expect(self, token: str) -> None:
        if self._tokens.pop() != token:
            raise ValueError
