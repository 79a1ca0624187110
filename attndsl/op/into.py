"""What a call writes in memory of the caller, inouts and `out=`: whether it is nobody else's.

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


def require_disjoint(signature: Signature, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> None:
    """Raises OutputOverlaps or InoutOverlaps where memory that is written is, or may be, another's too.

    All are arrays, or Strided for them; `outputs` are those that a caller gives, or none.
    """
    names = [tensor.name for tensor in (*signature.inputs, *signature.outputs)]
    arrays = [np.asarray(each) for each in (*inputs, *outputs)]
    written = (*signature.in_place, *range(len(inputs), len(arrays)))
    for number in written:
        error = errors.InoutOverlaps if number < len(inputs) else errors.OutputOverlaps
        if _meets_itself(arrays[number]):
            raise error(signature.name, names[number], "another of its elements")
        for other, array in enumerate(arrays[:number] if number >= len(inputs) else arrays):
            if other != number and _may_overlap(arrays[number], array):
                raise error(signature.name, names[number], names[other])


def lie_apart(written: Sequence[int], starts: Sequence[int], reaches: Sequence[int]) -> bool:
    """Whether nothing else begins or ends within what is written, of memory from `starts` on for so many bytes.

    A few µs: what calls like this one have been held to by `require_disjoint`, of elements that lie between each other
    too, is asked again only where it is not so.
    """
    for number in written:
        start, end = starts[number], starts[number] + reaches[number]
        for other, begin in enumerate(starts):
            if begin < end and start < begin + reaches[other] and other != number:
                return False
    return True


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
