"""A user's own function in a backend's place: what it gives for a call of a spec."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.storage import ELEMENTS, as_stored
from attndsl.testing.case import Array, Case

AS_BITS = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
"""The torch dtypes of the element types that NumPy holds as bits."""


class NoFunction(ValueError):
    """A name that leads to no function."""


class WrongOutputs(AssertionError):
    """What a function gave is not what the outputs of the spec are."""


@dataclass(frozen=True)
class Peer:
    """A function that is to agree with a spec, and the name by which a user calls it."""

    name: str
    function: Callable[..., Any]

    def outputs(self, case: Case) -> dict[str, Array]:
        """What the function gives for the outputs of a case. Raises WrongOutputs."""
        return outputs_of(self.function, case)


def peer_named(name: str) -> Peer:
    """The function that `module:function` names, modules of the working directory included. Raises NoFunction."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise NoFunction(f"{name!r} is not of the form module:function")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module_name), attribute)
    except ImportError as error:
        raise NoFunction(f"{module_name} cannot be imported: {error}") from error
    except AttributeError as error:
        raise NoFunction(str(error)) from error
    if not callable(function):
        raise NoFunction(f"{name} is no function")
    return Peer(name, function)


def outputs_of(function: Callable[..., Any], case: Case) -> dict[str, Array]:
    """What a function of the spec's inputs and parameters, given by name, returns for its outputs.

    It is given torch tensors where torch is installed, else NumPy arrays, and returns one of them, a tuple in the order
    of the outputs' declarations, or a dict by name; inouts it writes in place. Raises WrongOutputs.
    """
    lent = case.lent()
    inputs = {tensor.name: given(lent[tensor.name], case.element(tensor.name)) for tensor in case.spec.inputs}
    found = function(**inputs, **case.params)
    names = [tensor.name for tensor in case.spec.outputs]
    if not isinstance(found, Mapping):
        listed = found if isinstance(found, tuple | list) else (found,) * (found is not None)
        if len(listed) != len(names):
            raise WrongOutputs(f"the spec has {len(names)} outputs, the function returned {len(listed)}")
        found = dict(zip(names, listed, strict=True))
    names += [tensor.name for tensor in case.spec.inputs if tensor.role == "inout"]
    found = {**inputs, **found}
    if missing := [name for name in names if name not in found]:
        raise WrongOutputs(f"the function returned no {missing[0]}")
    return {name: _array(found[name], case.element(name), name, case.wanted[name].shape) for name in names}


def given(array: Array, element: str) -> Any:
    """An array as a torch tensor where torch is installed; torch has no negative strides, so such are laid out anew."""
    try:
        import torch
    except ModuleNotFoundError:
        return array
    tensor = torch.from_numpy(array.copy() if any(stride < 0 for stride in array.strides) else array)
    return tensor.view(getattr(torch, AS_BITS[element])) if element in AS_BITS else tensor


def as_bits(tensor: Any, element: str) -> Any:
    """A tensor of a type that NumPy lacks as one of its bits."""
    import torch

    return tensor.view({1: torch.uint8, 2: torch.uint16}[tensor.element_size()]) if element in AS_BITS else tensor


def _array(value: Any, element: str, name: str, shape: tuple[int, ...]) -> Array:
    if hasattr(value, "detach"):
        value = as_bits(value.detach().cpu(), element).numpy()
    array = np.asarray(value)
    if array.shape != shape:
        raise WrongOutputs(f"{name} has the shape {array.shape}, and is to have {shape}")
    held = ELEMENTS[element].dtype
    return (
        array
        if array.dtype == held
        else as_stored(array if array.dtype.kind in "biu" else array.astype(np.float64), element)
    )
