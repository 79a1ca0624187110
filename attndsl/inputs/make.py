"""Arrays made up for the inputs of a spec."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.checking.elements import usual_element
from attndsl.checking.evaluate import Number, evaluate, with_defaults
from attndsl.checking.typed import STORAGE_KINDS, Kind, Spec
from attndsl.inputs.dims import default_params
from attndsl.inputs.ranges import IndexRange, integer_ranges, positive_inputs
from attndsl.storage import ELEMENTS, encode

Array = np.ndarray[Any, Any]

MOST_PLACES = 2**22
"""Of how many places those that are all different are drawn."""


def make_inputs(
    spec: Spec,
    dims: Mapping[str, int],
    types: Mapping[str, str] | None = None,
    seed: int = 0,
    params: Mapping[str, Number] | None = None,
    hostile: bool = False,
) -> dict[str, Array]:
    """An array for each input, in the dtype that holds its element type (`attndsl.storage`).

    `types` maps a type variable to an element type, the usual one where it is left out. Floats are normal, integers
    such that the spec finds what it looks for: indices in range, offsets that rise; truth values are mostly true. With
    `hostile` many integers are such as they should not be (out of range, -1, falling offsets, lengths of 0 and beyond
    the bound), and truth values are as often false.
    """
    rng = np.random.default_rng(seed)
    known = with_defaults(spec.params, dims, {**default_params(spec), **(params or {})})
    ranges = integer_ranges(spec, dims, known)
    positive = positive_inputs(spec)
    elements = {name: usual_element(choices) for name, choices in spec.types.items()} | dict(types or {})
    arrays = {}
    for tensor in spec.inputs:
        element = elements.get(tensor.element, tensor.element)
        shape = tuple(int(evaluate(extent, dims, known)) for extent in tensor.extents)
        values: Array
        match STORAGE_KINDS[element]:
            case Kind.FLOAT:
                values = rng.uniform(0.1, 1.0, shape) if tensor.name in positive else rng.standard_normal(shape)
            case Kind.BOOL:
                values = rng.random(shape) < (0.5 if hostile else 0.8)
            case Kind.INT:
                values = _integers(rng, element, shape, ranges.get(tensor.name), hostile)
        arrays[tensor.name] = np.asarray(encode(values, element))
    return arrays


def _integers(
    rng: np.random.Generator, element: str, shape: tuple[int, ...], sensible: IndexRange | None, hostile: bool
) -> Array:
    limits = np.iinfo(ELEMENTS[element].dtype)
    if sensible is None:
        low, high = (limits.min, limits.max) if limits.bits == 8 else (0, 3)
        return rng.integers(low, high, shape, endpoint=True)
    high = min(sensible.high, limits.max, 2**62)
    size = math.prod(shape)
    values: Array = rng.integers(0, high, shape, endpoint=True)
    if sensible.apart and size <= high + 1 <= MOST_PLACES:
        values = rng.permutation(high + 1)[:size].reshape(shape)
    if sensible.use == "extent":  # long ones more often, so that small tensors are not mostly left out
        values = np.asarray(np.maximum(values, rng.integers(0, high, shape, endpoint=True)))
        values.flat[:1] = high
    if sensible.use == "offset" and values.size:
        values.sort(axis=-1)
        values[..., 0], values[..., -1] = 0, high
    if hostile:
        wrong = np.array([-1, *([] if sensible.apart else [0, 0]), high + 1, high + 100, -(2**31), 2**31 - 1])
        values = np.where(rng.random(shape) < 0.3, rng.choice(wrong, shape), values)
        values = np.clip(values, limits.min, limits.max)
    return values
