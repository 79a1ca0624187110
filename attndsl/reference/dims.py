"""The extents that the shapes of arrays give to a spec's dims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import DimValue, Spec


def dims_of(spec: Spec, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """The extent of each dim. Raises ValueError where an array is missing, or a shape is not as declared."""
    dims: dict[str, int] = {}
    for tensor in spec.inputs:
        if tensor.name not in arrays:
            raise ValueError(f"no array for the input `{tensor.name}`")
        shape = arrays[tensor.name].shape
        if len(shape) != len(tensor.extents):
            raise ValueError(f"`{tensor.name}` has {len(tensor.extents)} dimensions, the array {len(shape)}")
        for extent, size in zip(tensor.extents, shape, strict=True):
            if isinstance(extent, DimValue):
                dims.setdefault(extent.name, size)
    for tensor in spec.inputs:
        wanted = tuple(evaluate(extent, dims, {}) for extent in tensor.extents)
        if arrays[tensor.name].shape != wanted:
            raise ValueError(f"`{tensor.name}` is {wanted} for {dims}, the array is {arrays[tensor.name].shape}")
    return dims
