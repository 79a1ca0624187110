"""Outputs in memory of the caller, `out=`: whether it is what a call writes, and nobody else's.

No memory is read: what overlaps is told from addresses, extents and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.driver.signature import Signature
from attndsl.op import errors

WORK = 10_000
"""How many cases are looked at before two tensors are said to overlap, perhaps."""


@dataclass(frozen=True, slots=True)
class Strided:
    """Where the elements of a tensor lie: an address, extents, and strides and a size in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """As NumPy asks for it."""
        return {
            "data": (self.address, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": f"|V{self.itemsize}",
            "version": 3,
        }


def require_disjoint(signature: Signature, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raises OutputOverlaps where memory of an output is, or may be, another's too; arrays, or Strided for them."""
    sides = ((signature.inputs, inputs), (signature.outputs, outputs))
    arrays = [
        (tensor.name, np.asarray(each)) for tensors, given in sides for tensor, each in zip(tensors, given, strict=True)
    ]
    for number, (name, array) in enumerate(arrays[len(inputs) :], len(inputs)):
        if _meets_itself(array):
            raise errors.OutputOverlaps(signature.name, name, "another of its elements")
        for other, read in arrays[:number]:
            if _may_overlap(array, read):
                raise errors.OutputOverlaps(signature.name, name, other)


def _may_overlap(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=WORK)  # type: ignore[arg-type]  # NumPy's stubs know two values
    except np.exceptions.TooHardError:
        return True


def _meets_itself(array: np.ndarray[Any, Any]) -> bool:
    """Whether two indices may name one element: none do where each stride is longer than all that is shorter."""
    if array.flags.c_contiguous:
        return False
    reached = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and step < reached:
            return array.size > 0
        reached += max(size - 1, 0) * step
    return False
