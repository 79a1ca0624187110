"""One call of a spec: what it is given, what it should give, and what was found instead."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.checking.elements import usual_element
from attndsl.checking.evaluate import Number, evaluate, with_defaults
from attndsl.checking.typed import Kind, Spec
from attndsl.inputs import copied, default_dims, default_params, layouts_of, make_inputs, poison_absent, relay
from attndsl.reference import reference
from attndsl.reference.agreement import Agreement, compare
from attndsl.reference.errors import with_bounds
from attndsl.reference.rounding import rounding_of

Array = np.ndarray[Any, Any]

FEW = {"B": 2, "C": 2, "H": 2, "Hq": 4, "Hkv": 2, "Y": 3, "X": 4}
"""Batches, heads, and the sides of a plane: so many tell whether they mix, and more only take longer."""


MOST_ELEMENTS = 2**24
"""The most elements of a tensor of a case that is drawn or kept: more are more than the reference can do."""


def types_with(spec: Spec, element: str) -> dict[str, str]:
    """An element type for each type variable: this one where it may stand for that, else the usual one."""
    return {name: element if element in allowed else usual_element(allowed) for name, allowed in spec.types.items()}


def largest(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> int:
    """The number of elements of the largest tensor of a call, an extent of 0 counted as 1: a tile may be as wide."""
    known = (tensor for tensor in spec.tensors.values() if not tensor.is_computed)  # those are not the largest
    extents = ([evaluate(extent, dims, params) for extent in tensor.extents] for tensor in known)
    return max((math.prod(max(1, extent) for extent in each) for each in extents), default=0)


class Disagreement(AssertionError):
    """An output that rounding does not explain. `stage` is where it first appeared: a pass, `build`, a target."""

    def __init__(self, case: Case, stage: str, output: str, found: Agreement) -> None:
        self.case = case
        self.stage = stage
        self.output = output
        self.found = found
        said = {**case.types, **case.dims, **case.params}
        super().__init__(
            f"{case.spec.name}: after {stage}, {output}[{', '.join(map(str, found.place))}] is {found.got:.9g} and not"
            f" {found.wanted:.9g}: off by {found.error:.3g}, where rounding explains {found.bound:.3g},"
            f" with {', '.join(f'{name} = {value}' for name, value in said.items())}"
        )

    @classmethod
    def between(cls, case: Case, stage: str, output: str, got: Array, wanted: Array) -> Disagreement:
        """Two outputs that were to be equal to the bit."""
        differs = (got != wanted) & ~(np.isnan(got) & np.isnan(wanted))
        place = tuple(int(n) for n in np.argwhere(differs)[0])
        have, want = float(got[place]), float(wanted[place])
        return cls(case, stage, output, Agreement(place, have, want, abs(have - want), 0.0))


class InputChanged(AssertionError):
    """What runs a call wrote into an input of it that is no inout."""


@dataclass(frozen=True)
class Case:
    """The arrays and parameters of a call; a type variable that `types` lacks is f32.

    Inputs that are `left_out`, whose arrays are full of their defaults, say nothing of the types that it computes with.
    """

    spec: Spec
    types: Mapping[str, str]
    dims: Mapping[str, int]
    params: Mapping[str, Number]
    arrays: Mapping[str, Array]
    left_out: Collection[str] = ()

    def __repr__(self) -> str:
        return f"<Case of {self.spec.name}, {', '.join(f'{k}={v}' for k, v in {**self.types, **self.dims}.items())}>"

    @classmethod
    def make(
        cls,
        spec: Spec,
        element: str = "f32",
        seed: int = 0,
        dims: Mapping[str, int] | None = None,
        params: Mapping[str, Number] | None = None,
        hostile: bool = False,
        layout: str | None = None,
    ) -> Case:
        """A small call with made-up inputs, each of them laid out in memory as `layout` says (`attndsl.inputs`).

        Integer parameters are small, so that windows, blocks and chunks end inside of what they are laid over. Raises
        ValueError where no small extents meet the conditions of the spec.
        """
        types = types_with(spec, element)
        spec = spec.where(types)
        given = {name: size for name, size in FEW.items() if name in spec.dims} if dims is None else dims
        small = {p.name: 2 + seed % 2 for p in spec.params if p.kind is Kind.INT and p.formula is None}
        extents = default_dims(spec, seed, given, {**small, **(params or {})})
        chosen = with_defaults(spec.params, extents, {**default_params(spec), **small, **(params or {})})
        arrays = make_inputs(spec, extents, types, seed, chosen, hostile)
        if layout is not None:
            fit = [name for name in arrays if layout in layouts_of(spec, name)]
            arrays |= {name: relay(arrays[name], layout) for name in fit}
        return cls(spec, types, extents, chosen, arrays)

    def poisoned(self) -> Case:
        """The same call with NaN and infinities in all that no output depends on."""
        return self.given(**poison_absent(self.spec, self.arrays, self.params))

    def given(self, /, **arrays: Array) -> Case:
        """The same call with other arrays for some inputs."""
        return replace(self, arrays={**self.arrays, **arrays})

    def lent(self) -> dict[str, Array]:
        """The arrays for what makes the call: of those that it writes in place copies, which lie in memory alike."""
        written = {tensor.name for tensor in self.spec.written}
        return {name: copied(array) if name in written else array for name, array in self.arrays.items()}

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Raises InputChanged where the arrays have other bits afterwards; they get back those that they had."""
        before = {name: array.copy() for name, array in self.arrays.items()}
        try:
            yield
        finally:
            changed = [name for name, array in self.arrays.items() if array.tobytes() != before[name].tobytes()]
            for name in changed:
                self.arrays[name][...] = before[name]
        if changed:
            raise InputChanged(f"{self.spec.name}: the input {changed[0]} has been written to")

    @cached_property
    def wanted(self) -> dict[str, Array]:
        """What a call writes as the reference has it, in float64: outputs, and inouts as it leaves them."""
        for wanted, _ in self._bounded.values():
            return wanted
        return reference(self.spec, self.arrays, self.params)

    def element(self, output: str) -> str:
        """The element type of an output."""
        element = self.spec.tensors[output].element
        return self.types.get(element, element)

    def bounds(self, narrowed: bool) -> dict[str, Array]:
        """What rounding explains of each element of each output before it is stored; see `error_bounds`."""
        if narrowed not in self._bounded:
            elements = {self.element(name) for name in self.spec.tensors if name not in self.left_out}
            rounding = rounding_of(elements, narrowed)
            self._bounded[narrowed] = with_bounds(self.spec, self.arrays, self.params, rounding)
        return self._bounded[narrowed][1]

    @cached_property
    def _bounded(self) -> dict[bool, tuple[dict[str, Array], dict[str, Array]]]:
        """What a call writes and its bounds, as they were asked for: without weights in 16 bits, and with."""
        return {}

    def check(self, stage: str, outputs: Mapping[str, Array], narrowed: bool = False) -> float:
        """The largest error of the outputs as a share of its bound; raises Disagreement where that is above 1.

        `narrowed` says that weights were rounded to 16-bit types of the spec, as the pass narrow-products does.
        """
        bounds = self.bounds(narrowed)
        used = 0.0
        for name, wanted in self.wanted.items():
            found = compare(self.element(name), outputs[name], wanted, bounds[name])
            if not found.ok:
                raise Disagreement(self, stage, name, found)
            used = max(used, found.used)
        return used
