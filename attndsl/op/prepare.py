"""What is said of calls to come, and a call that stands for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attndsl.checking.evaluate import with_defaults
from attndsl.checking.symbolic import evaluate
from attndsl.driver.hints import did_you_mean
from attndsl.driver.library import checked
from attndsl.driver.signature import Signature
from attndsl.op.checks import join, parameters
from attndsl.syntax.source import Source


def said(signature: Signature, of: Mapping[str, str | int]) -> tuple[dict[str, str], dict[str, int]]:
    """An element type for each type variable, and the extents among what is said of a call. Raises ValueError."""
    known = [*signature.types, *signature.dims]
    for name, value in of.items():
        if name not in known:
            hint = did_you_mean(name, known) or "."
            raise ValueError(f"{signature.name} has no type or dim {name}{hint} It has {join(known)}")
        if name in signature.types and value not in signature.types[name]:
            allowed = join(signature.types[name], "or")
            raise ValueError(f"{name} = {value!r} is not allowed: {name} of {signature.name} is {allowed}")
        if name in signature.dims and not (type(value) is int and value >= 0):
            raise ValueError(f"{name} = {value!r} is no extent: {name} of {signature.name} is an int, 0 or more")
    types = {name: str(value) for name, value in of.items() if name in signature.types}
    dims = {name: int(value) for name, value in of.items() if name in signature.dims}
    return {**signature.default_types(), **types}, dims


def said_to_draw(
    signature: Signature, of: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, int], dict[str, int | float | bool]]:
    """The same, and the parameters among what is said. Raises ValueError, and CallError for a parameter's value."""
    params = tuple(param for param in signature.params if param.name in of)
    given = {param.name: of[param.name] for param in params}
    rest = {name: value for name, value in of.items() if name not in given}
    known = [*signature.types, *signature.dims, *(param.name for param in signature.params)]
    for name in rest:
        if name not in known:
            hint = did_you_mean(name, known) or "."
            raise ValueError(f"{signature.name} has no type, dim or parameter {name}{hint} It has {join(known)}")
    checked = parameters(replace(signature, params=params), given)
    return *said(signature, rest), {name: value for name, value in checked.items() if value is not None}


def made_up(source: Source, signature: Signature, types: Mapping[str, str], dims: Mapping[str, int]) -> dict[str, Any]:
    """The arguments of a call with arrays, small but for these dims, whose ints lead to keys. Raises ValueError."""
    from attndsl.inputs import default_dims, default_params, make_inputs

    spec = checked(source)
    params = default_params(spec)
    arrays = make_inputs(spec, default_dims(spec, given=dims, params=params), types, params=params)
    given = {tensor.name: arrays[tensor.name] for tensor in signature.inputs}
    return {**given, **params, **{name: types[name] for name in signature.said}}


def zeros(
    source: Source, signature: Signature, device: str, types: Mapping[str, str], dims: Mapping[str, int]
) -> dict[str, Any]:
    """The arguments of a call with tensors of a GPU: zeros, small but for these dims. Raises ValueError."""
    import torch

    from attndsl.inputs import default_dims, default_params
    from attndsl.op.torch_tensors import ELEMENTS

    if missing := [dim for dim in signature.features if dim not in dims]:
        raise ValueError(f"code of {signature.name} for a GPU is made for {join(missing)}: say {missing[0]}=… too")
    spec = checked(source)
    params = default_params(spec)
    extents = default_dims(spec, given=dims, params=params)
    known = with_defaults(spec.params, extents, params)
    tensors = {
        tensor.name: torch.zeros(
            [evaluate(extent, extents, known) for extent in tensor.extents],
            dtype=ELEMENTS[types.get(tensor.element, tensor.element)],
            device=device,
        )
        for tensor in signature.inputs
    }
    return {**tensors, **params, **{name: types[name] for name in signature.said}}
