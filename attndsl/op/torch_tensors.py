"""torch tensors as a call takes and gives them. Import this only when torch is in use."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from attndsl.op.checks import Given

DTYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "bool",
}
"""The element type of each torch dtype."""

ELEMENTS = {element: dtype for dtype, element in DTYPES.items()}

_BITS = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8}


def describe(tensor: torch.Tensor) -> Given:
    """What a tensor gives to a call."""
    element = DTYPES.get(tensor.dtype)
    return Given((element,) if element else (), str(tensor.dtype), tuple(tensor.shape), str(tensor.device))


def bits(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The memory of a CPU tensor as the compiled function takes it; nothing is copied."""
    tensor = tensor.detach()
    return tensor.view(_BITS.get(tensor.dtype, tensor.dtype)).numpy()
