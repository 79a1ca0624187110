"""Inputs made up for a spec, as torch's tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from attndsl.checking.typed import FLOAT_TYPES, Spec
from attndsl.inputs import make_inputs
from attndsl.op.torch_tensors import ELEMENTS as DTYPES
from attndsl.storage import ELEMENTS


def random_tensors(
    of: Spec, dims: Mapping[str, int], types: Mapping[str, str], params: Mapping[str, Any], device: torch.device
) -> dict[str, torch.Tensor]:
    """Random inputs of these extents and element types, on a device."""
    # Floats are made in f32 and rounded by torch: NumPy has no bf16.
    wide = {name: "f32" if element in FLOAT_TYPES else element for name, element in types.items()}
    made = tensors_of(of, make_inputs(of, dims, wide, params=params), wide)
    to = {tensor.name: DTYPES[types[tensor.element]] for tensor in of.inputs if tensor.element in types}
    return {name: tensor.to(device, to.get(name)) for name, tensor in made.items()}


def tensors_of(of: Spec, arrays: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, torch.Tensor]:
    """Arrays as `attndsl.storage` holds them, as torch's tensors of the same element types."""
    found = {}
    for tensor in of.inputs:
        element = types.get(tensor.element, tensor.element)
        array = torch.from_numpy(np.asarray(arrays[tensor.name], order="C"))
        found[tensor.name] = array.view(DTYPES[element]) if ELEMENTS[element].extension else array
    return found
