"""The extents that the shapes of arrays give to a spec's dims."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from attndsl.checking.evaluate import Number, evaluate
from attndsl.checking.extents import origins
from attndsl.checking.lines import lines_of
from attndsl.checking.plain import plain
from attndsl.checking.symbolic import order_of, settled
from attndsl.checking.typed import Spec, Tensor


def dims_of(
    spec: Spec, arrays: Mapping[str, np.ndarray[Any, Any]], params: Mapping[str, Number] = MappingProxyType({})
) -> dict[str, int]:
    """The extent of each dim that the arrays and parameters tell; an input with a default may be left out.

    Raises ValueError where an array or a parameter is missing, or a shape is not as declared.
    """
    formulas = {param.name: param.formula for param in spec.params if param.formula is not None}
    given = {param.name: params.get(param.name, param.default) for param in spec.params}
    known = {name: value for name, value in given.items() if value is not None}
    if missing := given.keys() - known.keys() - formulas.keys():
        raise ValueError(f"no value for the parameter `{min(missing)}`")
    inputs = [tensor for tensor in spec.inputs if tensor.name in arrays or tensor.default is None]
    for tensor in inputs:
        if tensor.name not in arrays:
            raise ValueError(f"no array for the input `{tensor.name}`")
        if arrays[tensor.name].ndim != len(tensor.extents):
            raise ValueError(
                f"`{tensor.name}` has {len(tensor.extents)} dimensions, the array {arrays[tensor.name].ndim}"
            )
    told = origins((tensor.name, lines_of(tensor)) for tensor in inputs)
    dims: dict[str, int] = {}
    for name in order_of(told, {name: plain(formula) for name, formula in formulas.items()}):
        if name in formulas:
            try:
                known[name] = known[name] if name in known else evaluate(formulas[name], dims, known)
            except KeyError as error:
                raise ValueError(f"nothing tells `{error.args[0]}`, of which `{name}` is made") from None
            continue
        teller, line = told[name].tensor, settled(told[name].line, known)
        if line.factor == 0:
            raise ValueError(f"`{teller}` is {arrays[teller].shape}, which does not tell `{name}`")
        dims[name] = line.solve(arrays[teller].shape[told[name].axis])
        if dims[name] < 0:
            raise ValueError(f"`{teller}` is {arrays[teller].shape}, which makes `{name}` {dims[name]}")
    for tensor in inputs:
        wanted, found = shape_of(tensor, dims, known), arrays[tensor.name].shape
        ones = [n for n in tensor.broadcast if found[n] == 1]
        if any(n not in ones and found[n] != size for n, size in enumerate(wanted)):
            raise ValueError(f"`{tensor.name}` is {wanted} for {dims}, the array is {found}")
    return dims


def shape_of(tensor: Tensor, dims: Mapping[str, int], params: Mapping[str, Number]) -> tuple[int, ...]:
    """The extents of a tensor. Raises KeyError where something that they are made of is not known."""
    return tuple(evaluate(extent, dims, params) for extent in tensor.extents)
