"""Which index variables a value depends on: the axes of what it denotes. An analysis; it changes nothing."""

from __future__ import annotations

from functools import cache

from attndsl.ir import attn, tile
from attndsl.ir.xdsl import Block, SSAValue, scf

REDUCTIONS = (
    attn.SumOp, attn.AllOp, attn.SoftmaxOp, attn.LogSumExpOp, attn.TotalOp, attn.MaxOp, attn.StreamOp,
    tile.ReduceOp, tile.DotOp,
)  # fmt: skip
"""The operations that remove a variable, the one they call `over`."""

SPECIAL = (scf.ForOp, scf.IfOp, attn.IndexOp, tile.LaneOp, tile.RelabelOp, *REDUCTIONS)
"""The operations whose results have other axes than all of their operands together."""

Axes = frozenset[SSAValue]


class AxesAnalysis:
    """The axes of values, remembered. Valid while the module does not change."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Axes] = {}

    def __call__(self, value: SSAValue) -> Axes:
        """The index variables, as the results of the operations that introduce them, that `value` depends on.

        In `tile` these are the lanes. That a variable's range depends on others makes a reduction over it depend on
        them, but not the variable.
        """
        # An explicit stack: chains of operations are longer than Python's recursion allows.
        stack = [value]
        while stack:
            top = stack[-1]
            if top in self._known:
                stack.pop()
                continue
            sources = _sources(top)
            needed = [v for v in sources if v not in self._known]
            if needed:
                stack.extend(needed)
            else:
                self._known[top] = self._combine(top, sources)
                stack.pop()
        return self._known[value]

    def know(self, value: SSAValue, axes: Axes) -> None:
        """Says what the axes of a value are: of a loop's arguments, say, while the loop is still being built."""
        self._known[value] = axes

    def _combine(self, value: SSAValue, sources: tuple[SSAValue, ...]) -> Axes:
        owner = value.owner
        merged: Axes = frozenset().union(*(self._known[v] for v in sources))
        if not _is_special(type(owner)):
            return merged
        if isinstance(owner, (attn.IndexOp, tile.LaneOp)):
            return frozenset({value})
        if isinstance(owner, attn.StreamOp):
            return self._stream(owner, value, sources)
        if isinstance(owner, REDUCTIONS):
            return merged - {owner.over}
        if isinstance(owner, tile.RelabelOp):
            return merged - {owner.old} | {owner.new}
        return merged

    def _stream(self, op: attn.StreamOp, value: SSAValue, sources: tuple[SSAValue, ...]) -> Axes:
        shared = [v for v in sources if v not in op.values]
        merged: Axes = frozenset().union(*(self._known[v] for v in shared))
        if value in op.sums:
            merged |= self._known[op.values[op.sums.index(value)]]
        return merged - {op.over}


def _sources(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values on whose axes those of `value` rest."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        assert isinstance(loop, scf.ForOp), "only loops have block arguments"
        # The verifier of the pipelines holds that what a loop yields has the axes of what it starts from.
        position = owner.args.index(value)
        return (loop.lb, loop.ub) if position == 0 else (loop.iter_args[position - 1],)
    if not _is_special(type(owner)):
        return tuple(owner.operands)
    if isinstance(owner, scf.ForOp):
        return (owner.iter_args[owner.results.index(value)],)
    if isinstance(owner, scf.IfOp):
        ends = [region.block.last_op for region in owner.regions]
        return tuple(end.operands[owner.results.index(value)] for end in ends if end is not None)
    if isinstance(owner, (attn.IndexOp, tile.LaneOp)):
        return ()
    if isinstance(owner, tile.RelabelOp):
        return (owner.value,)
    if isinstance(owner, REDUCTIONS) and isinstance(owner.over.owner, attn.IndexOp):
        return (*owner.operands, *owner.over.owner.operands)
    return tuple(owner.operands)


@cache
def _is_special(owner: type[object]) -> bool:
    """Asked once for each type: `isinstance` of xDSL's classes is slow, and this is asked of every value."""
    return issubclass(owner, SPECIAL)
