"""Which index variables a value depends on: the axes of what it denotes. An analysis; it changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from attndsl.ir.loop import FusedOp, LoopOp
from attndsl.ir.traits import Axes, Variables
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf


class AxesAnalysis:
    """The axes of values, remembered. Valid while the module does not change."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Axes] = {}

    def __call__(self, value: SSAValue) -> Axes:
        """The index variables, as the results of the operations that introduce them, that `value` depends on.

        In `tile` these are axes of tiles. That a variable's range depends on others makes a reduction over it depend on
        them, but not the variable.
        """
        known = self._known
        axes = known.get(value)
        if axes is not None:
            return axes
        # An explicit stack: chains of operations are longer than Python's recursion allows.
        stack = [(value, *_rests_on(value))]
        while stack:
            top, trait, sources = stack[-1]
            found = [known.get(v) for v in sources]
            if None in found:
                stack += [(v, *_rests_on(v)) for v, axes in zip(sources, found, strict=True) if axes is None]
                continue
            merged = EMPTY.union(*found)  # type: ignore[arg-type]
            known[top] = axes = merged if trait is None else trait.axes(top.owner, top, merged)
            stack.pop()
        assert axes is not None
        return axes

    def know(self, value: SSAValue, axes: Axes) -> None:
        """Says what the axes of a value are: of a loop's arguments, say, while the loop is still being built."""
        self._known[value] = axes

    def forget(self) -> None:
        """Begins anew."""
        self._known.clear()


EMPTY: Axes = frozenset()


def _rests_on(value: SSAValue) -> tuple[Variables | None, Sequence[SSAValue]]:
    """The values on whose axes those of `value` rest, and what its owner makes of them; None: it keeps all."""
    owner = value.owner
    trait = _trait(type(owner))
    return trait, _sources(value, owner) if trait is None else trait.rests_on(owner, value)


def _sources(value: SSAValue, owner: Operation | Block) -> Sequence[SSAValue]:
    """The values on whose axes those of `value` rest, whose owner has no trait that says so."""
    kind = type(owner)  # quicker asked than instances: this is looked at for every value
    if kind is Block:
        assert isinstance(owner, Block)
        loop = owner.parent_op()
        if not isinstance(loop, LoopOp):
            return ()  # the first row of a role
        # The verifier of the pipelines holds that what a loop yields has the axes of what it starts from.
        position = owner.args.index(value)
        return (loop.lb, loop.ub) if position == 0 else (loop.iter_args[position - 1],)
    if kind is LoopOp:
        return (owner.operands[3 + owner.results.index(value)],)  # type: ignore[union-attr]  # after its start, end and step
    if kind is FusedOp:
        return (owner.made(value),)  # type: ignore[union-attr]
    if kind is scf.IfOp:
        assert isinstance(owner, scf.IfOp)
        ends = [region.block.last_op for region in owner.regions]
        return tuple(end.operands[owner.results.index(value)] for end in ends if end is not None)
    return tuple(owner.operands)  # type: ignore[union-attr]


@cache
def _trait(kind: type[Operation | Block]) -> Variables | None:
    """Asked once for each type: looking through traits is slow, and this is asked of every value."""
    return kind.get_trait(Variables) if issubclass(kind, Operation) else None
