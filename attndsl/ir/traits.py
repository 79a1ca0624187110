"""What an operation says of itself: which index variables it binds, removes or renames, and what it folds with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attndsl.ir.monoids import Monoid
from attndsl.ir.xdsl import Operation, OpTrait, SSAValue

Axis = SSAValue
Axes = frozenset[Axis]

RULES: dict[type[Operation], Callable[[Any], None]] = {}
"""What operations with the trait `WellFormed` are held to; `attndsl.ir.context` fills it."""


class WellFormed(OpTrait):
    """That an operation is held to a rule of `RULES`, which raises VerifyException.

    Such a rule looks at what values are made of, by analyses of operations, of which no operation knows.
    """

    def verify(self, op: Operation) -> None:
        """Holds an operation to its rule."""
        RULES[type(op)](op)


class Variables(OpTrait, ABC):
    """That the results of an operation have other axes than all of its operands together."""

    @abstractmethod
    def rests_on(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        """The values on whose axes those of a result rest."""

    @abstractmethod
    def axes(self, op: Any, result: SSAValue, merged: Axes) -> Axes:
        """The axes of a result; `merged` are those of all that it rests on."""


class Binds(Variables):
    """That the result is an index variable. Its range may depend on others: it does not."""

    def rests_on(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        return ()

    def axes(self, op: Any, result: SSAValue, merged: Axes) -> Axes:
        return frozenset({result})


class Removes(Variables):
    """That the variable `over` is reduced. Where its range depends on others, so does what is reduced over it."""

    def rests_on(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        return (*self.reduced(op, result), *op.over.owner.operands)

    def reduced(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        """The operands that a result is made of."""
        return tuple(op.operands)

    def axes(self, op: Any, result: SSAValue, merged: Axes) -> Axes:
        return merged - {op.over, getattr(op.over.owner, "within", None)}


class RemovesEach(Removes):
    """That each sum of a stream is made of its own value, beside what all are made of."""

    def reduced(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        own = [value for value, total in zip(op.values, op.sums, strict=True) if total is result]
        return (op.score, *own, *([op.where] if op.where is not None else []))


class Renames(Variables):
    """That the axis `old` of `value` becomes `new`."""

    def rests_on(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        return (op.value,)

    def axes(self, op: Any, result: SSAValue, merged: Axes) -> Axes:
        return merged - {op.old} | {op.new}


class Flattens(Variables):
    """That the axes `blocks` and `within` of `value` become `new`."""

    def rests_on(self, op: Any, result: SSAValue) -> tuple[SSAValue, ...]:
        return (op.value,)

    def axes(self, op: Any, result: SSAValue, merged: Axes) -> Axes:
        return merged - {op.blocks, op.within} | {op.new}


@dataclass(frozen=True)
class Folds(OpTrait):
    """That an operation reduces `body` over the variable `over` with a monoid."""

    monoid: Monoid


def monoid_of(op: Operation) -> Monoid:
    """What a reduction folds with; raises AssertionError where an operation is no fold of one value."""
    trait = type(op).get_trait(Folds)
    assert trait is not None, f"{op.name} folds no value with a monoid"
    return trait.monoid
