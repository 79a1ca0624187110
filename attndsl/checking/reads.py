"""Which elements an expression reads for certain: where one of those is out of range, the expression is absent."""

from __future__ import annotations

from attndsl.checking.typed import Apply, Expr, Read, Reduce, ReduceAxis, operands


def certain_reads(root: Expr) -> set[tuple[Expr, Expr]]:
    """The pairs of an index and the extent it is held against, on every path through `root`.

    The bodies of sums and reductions are left out: they may have no terms.
    """
    found: set[tuple[Expr, Expr]] = set()
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        expr = stack.pop()
        if expr in seen or isinstance(expr, ReduceAxis | Reduce):
            continue
        seen.add(expr)
        if isinstance(expr, Read):
            found.update(zip(expr.indices, expr.tensor.extents, strict=True))
        stack.extend(reached(expr))
    return found


def reached(expr: Expr) -> tuple[Expr, ...]:
    """The operands that are evaluated whatever their values are."""
    if isinstance(expr, Apply) and expr.operator in ("and", "or", "iselect", "fselect", "bselect"):
        return expr.arguments[:1]
    return operands(expr)
