"""What a block may read of a tensor that it writes in place: the element that it writes, and no other."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.checking.typed import Block, Expr, Index, Read, ReduceAxis, Write, walk
from attndsl.syntax.source import Span


def astray(block: Block) -> Iterator[tuple[Span, Write]]:
    """Where a block reads of what it writes in place other elements, or elsewhere, with what writes those.

    Its rows have no order: where one reads what another one writes, it may find the old value or the new one.
    """
    written = {write.tensor: write for write in block.writes if write.tensor.role == "inout"}
    for read, write, statement in _reads(block) if written else ():
        own = write is not None and not write.adds and (read.tensor, read.indices) == (write.tensor, write.indices)
        if read.tensor in written and not own:
            by = written[read.tensor]
            # What is read by the same subscripts is one expression wherever it stands: its own place may be the other.
            yield (statement if read.indices == by.indices and not by.adds else read.span), by


def _reads(block: Block) -> Iterator[tuple[Read, Write | None, Span]]:
    """All that a block reads and the statement that it stands in; what is part of a value, with what writes that."""
    for write in block.writes:
        parts = [*walk(write.value)]
        yield from ((expr, write, write.span) for expr in parts if isinstance(expr, Read))
        axes = (*write.axes, *(expr.index for expr in parts if isinstance(expr, ReduceAxis)))
        rest = walk(*write.indices, *(end for index in axes for end in _ends(index)))
        yield from ((expr, None, write.span) for expr in rest if isinstance(expr, Read))
    for index in (*block.each, *block.over):
        yield from ((expr, None, index.span) for expr in walk(*_ends(index)) if isinstance(expr, Read))


def _ends(index: Index) -> tuple[Expr, Expr]:
    return index.extent, index.bound
