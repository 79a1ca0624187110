"""Tensors with a type, a shape and no memory: what a generated file launches for them is found without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

LARGEST_TENSOR = 2**59
"""The most elements of a tensor, none of more than 8 bytes: bytes are counted in 63 bits."""

POINTERS = {
    "f16": "*fp16", "bf16": "*bf16", "f32": "*fp32", "f64": "*fp64",
    "i8": "*i8", "u8": "*u8", "i16": "*i16", "u16": "*u16", "i32": "*i32", "u32": "*u32", "i64": "*i64", "bool": "*u1",
}  # fmt: skip
"""What Triton calls a pointer to elements of a type. Those of 8-bit floats are bytes, as kernels take them."""


class TooLarge(ValueError):
    """A tensor that no memory holds, or a kernel that needs more shared memory than a program has on the target."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """What a launch asks of a contiguous tensor; `pointer` is the type of its address in Triton's words."""

    pointer: str
    shape: tuple[int, ...]
    device: ClassVar = SimpleNamespace(type="meta")

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        """The stride of an axis, or those of all, in elements."""
        strides = tuple(math.prod(max(1, extent) for extent in self.shape[n + 1 :]) for n in range(len(self.shape)))
        return strides if axis is None else strides[axis]

    def view(self, pointer: str) -> StandIn:
        """The tensor, with elements of another type of as many bytes."""
        return StandIn(pointer, self.shape)

    def zero_(self) -> StandIn:
        """The tensor, as there is nothing to clear."""
        return self


def stand_in(element: str, extents: Sequence[int]) -> StandIn:
    """A tensor without memory. Raises TooLarge."""
    if math.prod(extents) > LARGEST_TENSOR:
        raise TooLarge(f"no memory holds a tensor of {' × '.join(map(str, extents))} elements")
    return StandIn(POINTERS.get(element, "*u8"), tuple(extents))


TORCH = SimpleNamespace(
    float16=POINTERS["f16"],
    bfloat16=POINTERS["bf16"],
    float32=POINTERS["f32"],
    float64=POINTERS["f64"],
    int8=POINTERS["i8"],
    uint8=POINTERS["u8"],
    int16=POINTERS["i16"],
    uint16=POINTERS["u16"],
    int32=POINTERS["i32"],
    uint32=POINTERS["u32"],
    int64=POINTERS["i64"],
    bool=POINTERS["bool"],
    empty=lambda *shape, dtype, device: StandIn(dtype, shape),
    zeros=lambda *shape, dtype, device: StandIn(dtype, shape),
)
"""Stands for torch where a generated file allocates workspaces and takes floats of 8 bits for bytes."""
