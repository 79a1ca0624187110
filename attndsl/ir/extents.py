"""The text of an extent, as tensors of the IR carry it: integers made of dims, by any operator of the language.

It reads as Python does, and means what the language says: `//` rounds down, integers have 64 bits. What else there
is in `attndsl.checking.operators` is called by its name: `iselect(igt(B, 2), B, 3)`.
"""

from __future__ import annotations

import ast
from functools import cache

from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, Kind, walk
from attndsl.ir.xdsl import VerifyException
from attndsl.syntax.source import Span

INFIX: dict[str, tuple[str, int, type[ast.operator]]] = {
    "ior": ("|", 1, ast.BitOr),
    "ixor": ("^", 2, ast.BitXor),
    "iand": ("&", 3, ast.BitAnd),
    "ishl": ("<<", 4, ast.LShift),
    "ishr": (">>", 4, ast.RShift),
    "iadd": ("+", 5, ast.Add),
    "isub": ("-", 5, ast.Sub),
    "imul": ("*", 6, ast.Mult),
    "idiv": ("//", 6, ast.FloorDiv),
    "imod": ("%", 6, ast.Mod),
}
"""The operators that stand between their operands: their sign, and how tightly it binds."""

NEGATION = 7
"""How tightly a minus binds that stands before its operand."""

CALLS = {"imin": "min", "imax": "max", "iabs": "abs", "and": "and_", "or": "or_", "not": "not_"}
"""What some of the others are called; the rest go by their own names."""

_SIGNS = {node: operator for operator, (_, _, node) in INFIX.items()}
_CALLED = {CALLS.get(name, name): name for name, row in OPERATORS.items() if Kind.FLOAT not in (row.gives, *row.takes)}
_NOWHERE = Span(0, 0)


@cache
def parse_extent(text: str) -> Expr:
    """The expression that a text denotes; its names are those of dims, as Python has them. Raises VerifyException."""
    try:
        expr = _expression(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise VerifyException(f"the extent {text!r} cannot be read") from None
    if expr is None or expr.kind is not Kind.INT:
        raise VerifyException(f"the extent {text!r} is more than arithmetic on dims")
    return expr


def names_of(text: str) -> set[str]:
    """The names in a text of an extent. Raises VerifyException."""
    return {part.name for part in walk(parse_extent(text)) if isinstance(part, DimValue)}


def _expression(node: ast.expr) -> Expr | None:
    match node:
        case ast.Constant(value=bool(value)):
            return Constant(Kind.BOOL, _NOWHERE, value)
        case ast.Constant(value=int(value)):
            return Constant(Kind.INT, _NOWHERE, value)
        case ast.Name(id=name):
            return DimValue(Kind.INT, _NOWHERE, name)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _apply(_SIGNS[type(sign)], [left, right])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _apply("ineg", [operand])
        case ast.Call(func=ast.Name(id=called), args=arguments, keywords=[]) if called in _CALLED:
            return _apply(_CALLED[called], arguments)
    return None


def _apply(operator: str, nodes: list[ast.expr]) -> Expr | None:
    row = OPERATORS[operator]
    arguments = [_expression(node) for node in nodes]
    operands = tuple(argument for argument in arguments if argument is not None)
    if tuple(operand.kind for operand in operands) != row.takes or len(operands) != len(nodes):
        return None
    return Apply(row.gives, _NOWHERE, operator, operands)
