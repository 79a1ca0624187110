"""Which index variables a value depends on: the axes of what it denotes. An analysis; it changes nothing."""

from __future__ import annotations

from functools import cache

from attndsl.ir.loop import LoopOp
from attndsl.ir.traits import Axes, Variables
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf


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
        trait = _trait(type(owner)) if isinstance(owner, Operation) else None
        return merged if trait is None else trait.axes(owner, value, merged)


def _sources(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values on whose axes those of `value` rest."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        assert isinstance(loop, LoopOp), "only loops have block arguments"
        # The verifier of the pipelines holds that what a loop yields has the axes of what it starts from.
        position = owner.args.index(value)
        return (loop.lb, loop.ub) if position == 0 else (loop.iter_args[position - 1],)
    kind = type(owner)
    trait = _trait(kind)
    if trait is not None:
        return trait.rests_on(owner, value)
    if kind is LoopOp:
        return (owner.operands[3 + owner.results.index(value)],)  # after lb, ub and step
    if kind is scf.IfOp:
        ends = [region.block.last_op for region in owner.regions]
        return tuple(end.operands[owner.results.index(value)] for end in ends if end is not None)
    return tuple(owner.operands)


@cache
def _trait(kind: type[Operation]) -> Variables | None:
    """Asked once for each type: looking through traits is slow, and this is asked of every value."""
    return kind.get_trait(Variables)
