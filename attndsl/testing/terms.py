"""Questions about typed expressions: what is in them, and what sort of an index they are."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.checking.typed import Apply, Expr, Index, IndexValue, Read, walk


def applies(expr: Expr, *operators: str) -> bool:
    """Whether one of the operators is in an expression; what it is read through does not count."""
    return any(isinstance(e, Apply) and e.operator in operators for e in without_reads(expr))


def without_reads(expr: Expr) -> Iterator[Expr]:
    """An expression's parts, once each, but for what is below a read or a sum."""
    seen, stack = {expr}, [expr]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, Apply):
            fresh = {argument: None for argument in part.arguments if argument not in seen}
            seen |= fresh.keys()
            stack += fresh


def reads(expr: Expr | None) -> bool:
    """Whether it depends on data."""
    return expr is not None and any(isinstance(e, Read) for e in walk(expr))


def variables(expr: Expr, *roles: str) -> set[Index]:
    """The variables in it, of these roles if any are named."""
    return {e.index for e in walk(expr) if isinstance(e, IndexValue) and (not roles or e.index.role in roles)}


def shifts(expr: Expr) -> bool:
    """Whether it is a variable with something of dims, parameters and numbers added."""
    return (
        isinstance(expr, Apply)
        and expr.operator in ("iadd", "isub")
        and isinstance(expr.arguments[0], IndexValue)
        and not variables(expr.arguments[1])
        and not reads(expr.arguments[1])
    )


def turns(expr: Expr) -> bool:
    """Whether a variable is taken away from something."""
    return any(
        isinstance(e, Apply)
        and e.operator in ("isub", "ineg")
        and any(isinstance(part, IndexValue) for part in without_reads(e.arguments[-1]))
        for e in without_reads(expr)
    )


def packs(expr: Expr) -> bool:
    """Whether a variable is added to something read: a place in what is packed."""
    return (
        isinstance(expr, Apply)
        and expr.operator == "iadd"
        and any(isinstance(a, Read) for a in expr.arguments)
        and any(isinstance(a, IndexValue) for a in expr.arguments)
    )
