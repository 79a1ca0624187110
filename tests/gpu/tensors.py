"""Arrays of a case as tensors of the GPU, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

BITS = {"bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
"""The torch dtypes of element types that NumPy holds as bits."""


def on_gpu(array: np.ndarray[Any, Any], element: str) -> torch.Tensor:
    """A NumPy array of an element type as a tensor on the GPU, strides kept."""
    on_cpu = torch.from_numpy(array)
    tensor = torch.empty_strided(on_cpu.shape, on_cpu.stride(), dtype=on_cpu.dtype, device="cuda")
    tensor.copy_(on_cpu)
    return tensor.view(BITS[element]) if element in BITS else tensor


def bits(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor of the GPU as NumPy holds it: bf16 as its bits."""
    array: np.ndarray[Any, Any] = (
        (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()
    )
    return array
