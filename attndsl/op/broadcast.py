"""Inputs that a call gives with an extent of 1 where the spec has `?`, as large as they are declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attndsl.driver.signature import Signature
from attndsl.op.checks import dims_told, extent_of, parameters


def broadcast(signature: Signature, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call that has all it must: views with strides of 0 in place of what has such an extent of 1.

    What has another rank, or is no array, stays as it is, for those to tell who check the call. Raises CallError.
    """
    ones: dict[str, list[int]] = {}
    for tensor in signature.inputs:
        shape = getattr(arguments[tensor.name], "shape", None)
        if shape is None or len(shape) != len(tensor.extents):
            return arguments
        if axes := [axis for axis in tensor.broadcast if shape[axis] == 1]:
            ones[tensor.name] = axes
    if not ones:
        return arguments
    dims, known = dims_told(signature, arguments, parameters(signature, arguments))
    found = dict(arguments)
    for tensor in signature.inputs:
        if tensor.name in ones:
            shape = [*found[tensor.name].shape]
            for axis in ones[tensor.name]:
                shape[axis] = max(extent_of(signature, tensor, axis, dims, known), 0)
            found[tensor.name] = _expanded(found[tensor.name], shape)
    return found


def _expanded(array: Any, shape: list[int]) -> Any:
    if hasattr(array, "expand"):  # a torch tensor
        return array.expand(shape)
    import numpy as np

    return np.broadcast_to(array, shape)
