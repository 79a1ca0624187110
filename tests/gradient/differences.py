"""Derived gradients beside finite differences of the reference, both in float64."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.gradient import Gradient, gradient
from attndsl.reference import reference
from attndsl.storage import encode
from attndsl.syntax.source import Source
from attndsl.testing import Case

Arrays = dict[str, np.ndarray[Any, Any]]

STEP = 1e-5
"""How far an input is moved."""

WITHIN = 1e-5
"""How far the slope along a direction may be off, of its size, or of this much of 1."""


def widened(text: str) -> Spec:
    """A spec whose floats of a fixed type are f64."""
    return check(Source(re.sub(r"\b(f32|f16)\[", "f64[", text)))


def slopes_differ(spec: Spec, case: Case, found: Gradient | None = None) -> list[str]:
    """The inputs whose gradients are wrong: along a direction the result rises otherwise."""
    found = found or gradient(spec)
    case = case.given(**{name: tame(array) for name, array in case.arrays.items()})
    arrays, cotangents = dict(case.arrays), cotangents_of(found, case)
    backward = check(Source(found.backward))
    types = {name: "f64" for name in backward.types if name not in case.types} | dict(case.types)
    given = call_of(found, backward, case, types)
    grads = reference(backward.where(dict.fromkeys(backward.said, "f64")), given, own(backward, case.params))
    rng = np.random.default_rng(5)

    def result(moved: Arrays) -> float:
        written = reference(spec, moved, case.params)
        return float(sum((_finite(written[name]) * cotangents[name]).sum() for name in found.cotangents))

    wrong = []
    for name, output in found.gradients.items():
        way = rng.standard_normal(arrays[name].shape)
        ends = [result({**arrays, name: arrays[name] + step * way}) for step in (STEP, -STEP)]
        slope, derived = (ends[0] - ends[1]) / (2 * STEP), float((grads[output] * way).sum())
        if not abs(slope - derived) <= WITHIN * max(abs(slope), abs(derived), 1e-2):
            wrong.append(f"{name}: {derived} for {slope}")
    return wrong


def cotangents_of(found: Gradient, case: Case) -> Arrays:
    """A cotangent for each output that has one, in float64."""
    rng = np.random.default_rng(7)
    written = reference(case.spec, case.arrays, case.params)
    return {name: np.asarray(rng.standard_normal(written[name].shape)) for name in found.cotangents}


def call_of(found: Gradient, backward: Spec, case: Case, types: Mapping[str, str]) -> Arrays:
    """The inputs of a backward, of these types: inputs of a call, what its forward writes, and cotangents."""
    forward = check(Source(found.forward))
    said = {name: types.get(name, "f64") for name in forward.said}
    given = {**reference(forward.where(said), case.arrays, case.params), **case.arrays}
    given |= {found.cotangents[name]: array for name, array in cotangents_of(found, case).items()}
    for tensor in backward.inputs:
        if tensor.name not in case.arrays:
            given[tensor.name] = np.asarray(encode(given[tensor.name], types.get(tensor.element, tensor.element)))
    return {tensor.name: given[tensor.name] for tensor in backward.inputs}


def own(spec: Spec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a spec has."""
    return {param.name: params[param.name] for param in spec.params if param.name in params}


def tame(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers that have differences: no infinities, and none that is large."""
    return np.clip(np.nan_to_num(array, neginf=-2, posinf=2), -4, 4) if array.dtype.kind == "f" else array


def _finite(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.isfinite(array), array, 0.0)
