"""Calls of `torch.vmap`, by a spec with an axis more that is derived from that of the call (`attndsl.syntax.batched`).

Import this only when torch is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import torch

from attndsl.op import errors
from attndsl.op.binding import CompiledSpec
from attndsl.syntax.source import Source

Places = Sequence[int | None]
"""Which axis of each tensor is that of the batch, if any is."""


class BatchedCall(Protocol):
    """How a spec of a batch is called with tensors."""

    @property
    def gradients(self) -> Any:
        """What makes gradients of such calls."""

    def __call__(
        self,
        inputs: Mapping[str, torch.Tensor],
        params: Mapping[str, Any],
        out: Sequence[torch.Tensor] | None = None,
        /,
    ) -> Sequence[torch.Tensor]:
        """The outputs, whose first axis is that of the batch."""


class Batches:
    """How a batch of calls of one compiled spec is made; what is derived is made once for each choice of inputs."""

    def __init__(self, binding: CompiledSpec, register: Callable[[CompiledSpec], BatchedCall]) -> None:
        self._binding = binding
        self._register = register
        self._derived: dict[tuple[str, ...], BatchedCall] = {}

    def __call__(
        self,
        inputs: Sequence[torch.Tensor],
        places: Places,
        params: Mapping[str, Any],
        out: Sequence[torch.Tensor] | None = None,
        written: Places = (),
    ) -> Sequence[torch.Tensor]:
        """The outputs, whose first axis is that of the batch. Raises BatchWanted, NotBatched."""
        signature = self._binding.signature
        batched = tuple(t.name for t, place in zip(signature.inputs, places, strict=True) if place is not None)
        if not batched:
            raise errors.BatchWanted(signature.name)
        for tensor, place in zip(signature.inputs, places, strict=True):
            if tensor.in_place and place is None:
                raise errors.NotBatched(signature.name, tensor.name)
        for tensor, place in zip(signature.outputs, written, strict=False):
            if place is None:
                raise errors.NotBatched(signature.name, tensor.name)
        names = [tensor.name for tensor in signature.inputs]
        moved = [moved_first(tensor, place) for tensor, place in zip(inputs, places, strict=True)]
        into = out and [moved_first(tensor, place) for tensor, place in zip(out, written, strict=True)]
        return self.of(batched)(dict(zip(names, moved, strict=True)), params, into)

    def of(self, batched: tuple[str, ...]) -> BatchedCall:
        """How the spec is called in which these inputs have a batch's axis. Raises BatchWanted."""
        if batched not in self._derived:
            self._derived[batched] = self._register(self._binding_of(batched))
        return self._derived[batched]

    def _binding_of(self, batched: tuple[str, ...]) -> CompiledSpec:
        from attndsl.diagnostics.base import SpecError

        try:
            source = batched_source(self._binding.spec, batched)
            return CompiledSpec(source, self._binding.left_out, self._binding.said)
        except SpecError as error:
            raise errors.BatchWanted(self._binding.signature.name) from error


def batched_source(source: Source, inputs: Collection[str]) -> Source:
    """The spec in which these inputs have a batch's axis; where no output can lie as an input then, none is to.

    Raises SpecError.
    """
    from attndsl.diagnostics.base import SpecError
    from attndsl.diagnostics.declarations import LayoutUnmatched
    from attndsl.driver.library import checked
    from attndsl.syntax.batched import batched_text

    batch = Source(batched_text(source, inputs))
    try:
        checked(batch)
    except SpecError as error:
        if not all(isinstance(each, LayoutUnmatched) for each in error.diagnostics):
            raise
        return Source(batched_text(source, inputs, keeps_layout=False))
    return batch


def moved_first(tensor: torch.Tensor, place: int | None) -> torch.Tensor:
    """A view whose first axis is this one."""
    return tensor if place is None else tensor.movedim(place, 0)
