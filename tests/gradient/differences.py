"""Derived gradients beside finite differences of the reference, both in float64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.typed import FLOAT_TYPES, STORAGE_KINDS, Kind, Spec
from attndsl.gradient import Gradient, gradient
from attndsl.inputs import elements_read, poison_absent
from attndsl.inputs.ranges import integer_ranges
from attndsl.reference import reference
from attndsl.storage import decode, encode
from attndsl.syntax import tree
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.laws import NOBODY, row_of_each_element
from attndsl.testing.rewriting import nodes, parsed, written

Arrays = dict[str, np.ndarray[Any, Any]]

STEPS = (1e-4, 1e-6)
"""How far inputs are moved: the second way is tried where a kink is within the first."""

SETTLED = 1e-6
"""By how much quotients may change otherwise than along a parabola, of what `WITHIN` is a share of."""

WITHIN = 1e-5
"""How far the slope along a direction may be off, of its size, or of this much of 1."""

LARGEST = 4.0
"""Larger numbers are taken for this one."""


def widened(text: str) -> Spec:
    """A spec whose floats are f64: all but inputs of 8 bits, which have no gradient."""
    attention = parsed(text)
    wide: dict[tree.Node, str] = {}
    for node in nodes(attention):
        match node:
            case tree.TensorDeclaration(element=tree.Name(text=element) as name):
                fixed = element in FLOAT_TYPES or (node.role != "input" and STORAGE_KINDS.get(element) is Kind.FLOAT)
                wide |= {name: "f64"} if fixed else {}
            case tree.TypeVariable(name=name, choices=choices) if all(each.text in FLOAT_TYPES for each in choices):
                wide[node] = f"{name.text} = f64"
    return check(Source(text[: attention.span.start] + written(text, attention, wide.get) + text[attention.span.end :]))


def widened_call(case: Case) -> Case:
    """A call of a spec in float64, of numbers that have differences, with NaN and infinities in what no row sees.

    A row of a block sees what is put into a temp, whether or not anything reads it there. Offsets rise, as gradients
    take them to.
    """
    spec = widened(case.spec.source.text)
    arrays = {}
    ranges = integer_ranges(spec, case.dims, case.params)
    for tensor in spec.inputs:
        array = case.arrays[tensor.name]
        narrow = tensor.element in STORAGE_KINDS and tensor.element not in FLOAT_TYPES
        is_float = spec.kind(tensor) is Kind.FLOAT and not narrow
        if tensor.name in ranges and ranges[tensor.name].use == "offset":
            array = np.sort(array, axis=-1)
        arrays[tensor.name] = tame(decode(array, case.element(tensor.name))) if is_float else array
    types = {name: "f64" if "f64" in choices else case.types[name] for name, choices in spec.types.items()}
    return Case(spec, types, case.dims, case.params, arrays | poison_absent(_shown(spec), arrays, case.params))


def _shown(spec: Spec) -> Spec:
    """A spec whose temps are outputs."""
    if not any(tensor.role == "temp" and not tensor.is_computed for tensor in spec.tensors.values()):
        return spec
    text, attention = spec.source.text, parsed(spec.source.text)

    def change(node: tree.Node) -> str | None:
        is_temp = isinstance(node, tree.TensorDeclaration) and node.role == "temp"
        return f"output{text[node.span.start + len('temp') : node.span.end]}" if is_temp else None

    return check(Source(text[: attention.span.start] + written(text, attention, change)))


class Weighed:
    """A call of which one number is made: its float outputs, each times a cotangent.

    What no row writes has a cotangent that is no number, and what is infinite one of 0.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        rng = np.random.default_rng(7)
        floats = [tensor.name for tensor in case.spec.outputs if case.spec.kind(tensor) is Kind.FLOAT]
        rows = row_of_each_element(case)
        self.cotangents: Arrays = {}
        for name in floats:
            finite, given = np.isfinite(case.wanted[name]), rng.standard_normal(rows[name].shape)
            self.cotangents[name] = np.where(rows[name] == NOBODY, np.nan, np.where(finite, given, 0.0))

    @cached_property
    def _written(self) -> list[np.ndarray[Any, Any]]:
        """All floats that rows write, temps too: what reads one may leave it out, and its gradient is a product yet."""
        shown, case = _shown(self.case.spec), self.case
        found = case.wanted if shown is case.spec else reference(shown, case.arrays, case.params)
        return [found[tensor.name] for tensor in shown.outputs if shown.kind(tensor) is Kind.FLOAT]

    @property
    def is_number(self) -> bool:
        """Whether all that rows write are numbers, or infinities: those of rows without keys."""
        return not any(np.isnan(array).any() for array in self._written)

    @cached_property
    def reads_infinity(self) -> bool:
        """Whether a factor may be infinite, read or of a row without keys: times 0 it is no number, here too."""
        if any(np.isinf(array).any() for array in self._written):
            return True
        seen = elements_read(_shown(self.case.spec), self.case.arrays, self.case.params)
        return any(np.isinf(self.case.arrays[name][each]).any() for name, each in seen.items())

    @cached_property
    def read(self) -> Arrays:
        """Which elements of inputs the outputs depend on."""
        return elements_read(self.case.spec, self.case.arrays, self.case.params)

    def way(self, names: Iterable[str], seed: int = 5) -> Arrays:
        """A direction of some inputs, of those of their elements that outputs depend on."""
        rng = np.random.default_rng(seed)
        found = {}
        for name in names:
            moves = self.read[name] & np.isfinite(self.case.arrays[name])
            found[name] = np.where(moves, rng.standard_normal(moves.shape), 0.0)
        return found

    def slope(self, way: Arrays) -> float | None:
        """How the number rises along a direction; None where quotients of differences do not settle.

        Those of four neighbouring steps lie on a line where the function is smooth: how much they leave it bounds how
        far the slope in the midst of them can be off, beside a kink too.
        """
        for step in STEPS:
            results = [self._result(way, number * step) for number in (-2, -1, 0, 1, 2)]
            quotients = np.diff(results) / step
            slope = float(results[3] - results[1]) / (2 * step)
            if np.abs(np.diff(quotients, 2)).max() <= SETTLED * _size(slope):
                return slope
        return None

    def _result(self, way: Arrays, step: float) -> float:
        moved = {name: self.case.arrays[name] + step * way[name] for name in way}
        found = reference(self.case.spec, {**self.case.arrays, **moved}, self.case.params) if step else self.case.wanted
        with np.errstate(invalid="ignore"):
            terms = (found[name] * cotangent for name, cotangent in self.cotangents.items())
            return float(sum(each[np.isfinite(each)].sum() for each in terms))

    def gradients(self, found: Gradient) -> Arrays:
        """The gradients that a derived backward gives, by the inputs that they are of."""
        backward, case = check(Source(found.backward)), self.case
        types = {name: "f64" for name in backward.types if name not in case.types} | dict(case.types)
        given = call_of(found, backward, case, types, self.cotangents)
        written = reference(backward.where(dict.fromkeys(backward.said, "f64")), given, own(backward, case.params))
        return {name: written[output] for name, output in found.gradients.items()}


def rises(way: Arrays, gradients: Arrays) -> float:
    """How a number rises along a direction as gradients say."""
    return float(sum((array * way[name]).sum() for name, array in gradients.items() if name in way))


def agree(slope: float, derived: float) -> bool:
    """Whether two slopes differ by no more than differences can tell."""
    return abs(slope - derived) <= WITHIN * _size(slope, derived)


def slopes_differ(spec: Spec, case: Case, found: Gradient | None = None) -> list[str]:
    """The inputs whose gradients are wrong: along a direction the result rises otherwise."""
    found = found or gradient(spec)
    wrong, _ = compared(case.given(**{name: tame(array) for name, array in case.arrays.items()}), found)
    return wrong


def compared(case: Case, found: Gradient) -> tuple[list[str], int]:
    """What is wrong with the gradients of a call, and how many inputs of it have a slope.

    A gradient is a number everywhere, and 0 where no output depends on an element.
    """
    weighed = Weighed(case)
    if not weighed.is_number:
        return [], 0
    gradients = weighed.gradients(found)
    if weighed.reads_infinity and not all(np.isfinite(array).all() for array in gradients.values()):
        return [], 0
    wrong, slopes = [], 0
    for name, array in gradients.items():
        if not np.isfinite(array).all():
            wrong.append(f"{name}: {array} is no number")
        elif array[~weighed.read[name]].any():
            wrong.append(f"{name}: {array} where nothing is read")
        way = weighed.way([name])
        if (slope := weighed.slope(way)) is not None:
            slopes += 1
            if not agree(slope, derived := rises(way, gradients)):
                wrong.append(f"{name}: {derived} for {slope}")
    return wrong, slopes


def _size(*slopes: float) -> float:
    return max(*map(abs, slopes), 1e-2)


def call_of(
    found: Gradient, backward: Spec, case: Case, types: Mapping[str, str], cotangents: Arrays | None = None
) -> Arrays:
    """The inputs of a backward, of these types: inputs of a call, what its forward writes, and cotangents."""
    forward = check(Source(found.forward))
    said = {name: types.get(name, "f64") for name in forward.said}
    given = {**reference(forward.where(said), case.arrays, case.params), **case.arrays}
    cotangents = cotangents or Weighed(case).cotangents
    given |= {found.cotangents[name]: cotangents[name] for name in found.cotangents}
    for tensor in backward.inputs:
        if tensor.name not in case.arrays:
            given[tensor.name] = np.asarray(encode(given[tensor.name], types.get(tensor.element, tensor.element)))
    return {tensor.name: given[tensor.name] for tensor in backward.inputs}


def own(spec: Spec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a spec has."""
    return {param.name: params[param.name] for param in spec.params if param.name in params}


def tame(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers that have differences: none that is large, and no infinity but -inf, which weighs nothing."""
    if array.dtype.kind != "f":
        return array
    return np.where(array == -np.inf, array, np.clip(np.nan_to_num(array, posinf=LARGEST), -LARGEST, LARGEST))
