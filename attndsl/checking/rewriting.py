"""A typed spec with some of its parts put otherwise."""

from __future__ import annotations

from dataclasses import replace

from attndsl.checking.typed import Apply, Block, Expr, Index, IndexValue, Read, Reduce, ReduceAxis, Write, operands


class Rewriting:
    """Rebuilds blocks from their parts as they are; a subclass says what becomes of some.

    Equal expressions stay one: what is shared is computed once. What does not change is the same object afterwards.
    """

    def __init__(self) -> None:
        self._indices: dict[Index, Index] = {}
        self._known: dict[Expr, Expr] = {}

    def block(self, block: Block) -> Block:
        """A block of what its parts become."""
        return Block(
            tuple(map(self.index, block.each)), tuple(map(self.index, block.over)), tuple(map(self.write, block.writes))
        )

    def write(self, write: Write) -> Write:
        """A write of what its parts become."""
        return replace(
            write,
            indices=tuple(map(self.expr, write.indices)),
            axes=tuple(map(self.index, write.axes)),
            value=self.expr(write.value),
        )

    def index(self, index: Index) -> Index:
        """What stands for an index variable."""
        if index not in self._indices:
            self._indices[index] = self.rewritten_index(index)
        return self._indices[index]

    def expr(self, expr: Expr) -> Expr:
        """What stands for an expression."""
        if expr not in self._known:
            self._known[expr] = self.rewritten(expr)
        return self._known[expr]

    def rewritten_index(self, index: Index) -> Index:
        """An index variable of what its extent and bound become."""
        extent, bound = self.expr(index.extent), self.expr(index.bound)
        return index if (extent, bound) == (index.extent, index.bound) else replace(index, extent=extent, bound=bound)

    def rewritten(self, expr: Expr) -> Expr:
        """An expression of what its operands become."""
        match expr:
            case IndexValue():
                index = self.index(expr.index)
                return expr if index is expr.index else replace(expr, index=index)
            case Read():
                indices = tuple(map(self.expr, expr.indices))
                return expr if indices == expr.indices else replace(expr, indices=indices)
            case Apply():
                arguments = tuple(map(self.expr, expr.arguments))
                return expr if arguments == expr.arguments else replace(expr, arguments=arguments)
            case ReduceAxis():
                over, body = self.index(expr.index), self.expr(expr.body)
                return expr if (over, body) == (expr.index, expr.body) else replace(expr, index=over, body=body)
            case Reduce():
                parts = {name: self.expr(part) for name, part in expr.parts.items() if part is not None}
                made = replace(expr, **parts)  # type: ignore[arg-type]  # parts alone, no kind and no function
                return expr if operands(made) == operands(expr) else made
        return expr
