"""A spec as it would be were no position masked, and every extent that data give as large as it may be."""

from __future__ import annotations

from dataclasses import replace

from attndsl.checking.typed import Apply, Block, Expr, Index, IndexValue, Read, Reduce, ReduceAxis, Spec, Write


def unmasked(spec: Spec) -> Spec:
    """The spec without masks, each index with its bound for an extent."""
    return replace(spec, blocks=tuple(_Unmasked().block(block) for block in spec.blocks))


class _Unmasked:
    def __init__(self) -> None:
        self._indices: dict[Index, Index] = {}
        self._known: dict[Expr, Expr] = {}

    def block(self, block: Block) -> Block:
        return Block(
            tuple(map(self.index, block.each)), tuple(map(self.index, block.over)), tuple(map(self.write, block.writes))
        )

    def write(self, write: Write) -> Write:
        return replace(
            write,
            indices=tuple(map(self.expr, write.indices)),
            axes=tuple(map(self.index, write.axes)),
            value=self.expr(write.value),
        )

    def index(self, index: Index) -> Index:
        if index not in self._indices:
            bound = self.expr(index.bound)
            self._indices[index] = replace(index, extent=bound, bound=bound)
        return self._indices[index]

    def expr(self, expr: Expr) -> Expr:
        """Equal expressions stay one: what is shared is computed once."""
        if expr not in self._known:
            self._known[expr] = self._expr(expr)
        return self._known[expr]

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case IndexValue():
                return replace(expr, index=self.index(expr.index))
            case Read():
                return replace(expr, indices=tuple(map(self.expr, expr.indices)))
            case Apply():
                return replace(expr, arguments=tuple(map(self.expr, expr.arguments)))
            case ReduceAxis():
                return replace(expr, index=self.index(expr.index), body=self.expr(expr.body))
            case Reduce():
                value, sink = (None if part is None else self.expr(part) for part in (expr.value, expr.sink))
                return replace(expr, score=self.expr(expr.score), mask=None, value=value, sink=sink)
        return expr
