"""How the outputs of a call lie in memory: as they are declared, or as an input does where the spec says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from attndsl.driver.signature import Signature, TensorSignature

Order = tuple[int, ...]
"""The axes of an output as they lie in memory, outermost first."""

T = TypeVar("T")

Made = tuple[Callable[[], Any], Callable[[Any], T] | None]
"""What makes memory, as compiled functions take it, and what gives the output that this is; None where it is both."""

Allocator = Callable[[tuple[int, ...], Order | None], Made[T]]
"""What gives, for a shape and an order of its axes, what makes an output of it."""

Strides = Callable[[Any], Sequence[int]]
"""The strides of an array or tensor, in whatever unit."""


class Layouts:
    """The orders of the outputs of one spec's calls."""

    def __init__(self, signature: Signature) -> None:
        names = [tensor.name for tensor in signature.inputs]
        self._like = [None if not t.like else (t, names.index(t.like)) for t in signature.outputs]
        self.any = any(self._like)
        """Whether a call's inputs say anything of it."""

    def __call__(self, inputs: Sequence[Any], strides: Strides) -> tuple[Order | None, ...]:
        """For each output its order; None for one whose axes lie as they are declared."""
        return tuple(None if like is None else _order(like[0], strides(inputs[like[1]])) for like in self._like)


def _order(output: TensorSignature, strides: Sequence[int]) -> Order | None:
    """That of an output, from the strides of what it lies like."""
    places = {axis: place for place, axis in enumerate(output.counterparts) if axis is not None}
    outermost = [place for place, axis in enumerate(output.counterparts) if axis is None]
    order = (*outermost, *(places[axis] for axis in _outermost_first(strides) if axis in places))
    return None if order == tuple(range(len(order))) else order


def _outermost_first(strides: Sequence[int]) -> list[int]:
    """Axes from long strides to short ones. One whose stride is 0, of which memory says nothing, follows its neighbour.

    Shapes and strides may be symbolic, as they are while torch traces a program.
    """
    found = sorted((axis for axis, step in enumerate(strides) if step != 0), key=lambda axis: -abs(strides[axis]))
    for axis in (axis for axis, step in enumerate(strides) if step == 0):
        found.insert(found.index(axis - 1) + 1 if axis else 0, axis)
    return found


def permuted(shape: Sequence[int], order: Order) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of a contiguous tensor for an output of this order, and the axes of that from it."""
    return tuple(shape[axis] for axis in order), tuple(order.index(axis) for axis in range(len(order)))
