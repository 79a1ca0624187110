"""The values of an expression for all values of its variables at once, as torch tensors.

The counterpart of `reference.arrays`: on a GPU, and for all rows together.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from attndsl.checking.typed import Index

Axes = tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class MaskedTensor:
    """What an expression is worth, and where it is present, None for everywhere; `value` means nothing elsewhere.

    Both tensors have one dimension for each variable of `axes`, in that order.
    """

    axes: Axes
    value: torch.Tensor
    present: torch.Tensor | None = None


def union(axes: Iterable[Axes]) -> Axes:
    """The variables of several expressions, each once."""
    return tuple(dict.fromkeys(axis for each in axes for axis in each))


def along(tensor: torch.Tensor, axes: Axes, wanted: Axes) -> torch.Tensor:
    """A tensor with a dimension for each of `axes` as one with a dimension for each of `wanted`, new ones of size 1."""
    ordered = tensor.permute([axes.index(axis) for axis in wanted if axis in axes])
    return ordered[tuple(slice(None) if axis in axes else None for axis in wanted)]


def broadcast(tensor: torch.Tensor, axes: Axes, wanted: Axes, sizes: Mapping[Index, int]) -> torch.Tensor:
    """The same with every dimension at its size; nothing is copied."""
    return along(tensor, axes, wanted).expand([sizes[axis] for axis in wanted])


def both(parts: Sequence[MaskedTensor]) -> MaskedTensor | None:
    """Where all of several truth values hold; None for none of them."""
    if not parts:
        return None
    axes = union(part.axes for part in parts)
    value = along(parts[0].value, parts[0].axes, axes)
    for part in parts[1:]:
        value = value & along(part.value, part.axes, axes)
    return MaskedTensor(axes, value)


def contract(factors: Sequence[MaskedTensor], kept: Axes) -> torch.Tensor:
    """The product of all factors, summed over every variable that is not `kept`, by torch's matrix products."""
    letters = dict(zip(union([*(factor.axes for factor in factors), kept]), string.ascii_letters, strict=False))
    element = factors[0].value.dtype
    for factor in factors[1:]:
        element = torch.promote_types(element, factor.value.dtype)
    subscripts = ",".join("".join(letters[axis] for axis in factor.axes) for factor in factors)
    equation = f"{subscripts}->{''.join(letters[axis] for axis in kept)}"
    product: torch.Tensor = torch.einsum(equation, *(factor.value.to(element) for factor in factors))
    return product
