"""The extents that the shapes of arrays give to a spec's dims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.checking.evaluate import evaluate
from attndsl.checking.extents import origins
from attndsl.checking.lines import line_of
from attndsl.checking.typed import Spec


def dims_of(spec: Spec, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """The extent of each dim that the arrays tell; an input with a default may be left out.

    Raises ValueError where an array is missing, or a shape is not as declared.
    """
    inputs = [tensor for tensor in spec.inputs if tensor.name in arrays or tensor.default is None]
    for tensor in inputs:
        if tensor.name not in arrays:
            raise ValueError(f"no array for the input `{tensor.name}`")
        if arrays[tensor.name].ndim != len(tensor.extents):
            raise ValueError(
                f"`{tensor.name}` has {len(tensor.extents)} dimensions, the array {arrays[tensor.name].ndim}"
            )
    told = origins((tensor.name, [line_of(extent) for extent in tensor.extents]) for tensor in inputs)
    dims = {name: origin.line.solve(arrays[origin.tensor].shape[origin.axis]) for name, origin in told.items()}
    for name, size in dims.items():
        if size < 0:
            teller = told[name].tensor
            raise ValueError(f"`{teller}` is {arrays[teller].shape}, which makes `{name}` {size}")
    for tensor in inputs:
        wanted = tuple(evaluate(extent, dims, {}) for extent in tensor.extents)
        if arrays[tensor.name].shape != wanted:
            raise ValueError(f"`{tensor.name}` is {wanted} for {dims}, the array is {arrays[tensor.name].shape}")
    return dims
