"""Which programs read keys that lie beside each other in memory. An analysis of kernels of `attn` and of `tile`.

Where a cache has its heads after its keys, a key's row of one head is followed by that of the next, and those of one
head lie as far apart as all are long together: who walks one head reads a little of each part of memory, and who walks
the next comes back to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from attndsl.ir import tile
from attndsl.ir.analyses.arrangement import row_axis
from attndsl.ir.analyses.meeting import resting_on
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import SSAValue

FEW_ROWS = 16
"""The most rows of a program that waits for memory: with more, products take longer than reading."""


def beside(
    variables: Collection[SSAValue], subscripts: Iterable[Sequence[SSAValue]], of_keys: Callable[[SSAValue], bool]
) -> set[SSAValue]:
    """Those among the variables of programs that are a subscript after all that rest on keys, and before features."""
    found: set[SSAValue] = set()
    for indices in subscripts:
        last = max((place for place, index in enumerate(indices) if of_keys(index)), default=len(indices))
        inner = [index for index in indices[last + 1 :] if index in variables]
        if len(inner) < len(indices[last + 1 :]):
            found.update(inner)
    return found


def programs_beside(kernel: tile.KernelOp) -> list[tile.ProgramOp]:
    """Those of a kernel of rows that reads for one value of each of their variables, in order.

    Not those on which it rests where keys or rows end: they cannot be computed together.
    """
    axes, programs = AxesAnalysis(), of_kind(kernel, tile.ProgramOp)
    if row_axis(kernel) is None:
        return []
    reads = (op.indices for op in of_kind(kernel, tile.LoadOp))
    found = beside([op.result for op in programs], reads, lambda index: any(map(tile.is_key, axes(index))))
    ends = [end for op in of_kind(kernel, tile.LoopOp) for end in (op.lb, op.ub, op.row_start, op.row_stop)]
    ends += [op.extent for op in programs]
    return [op for op in programs if op.result in found and resting_on(op.result, kernel).isdisjoint(ends)]
