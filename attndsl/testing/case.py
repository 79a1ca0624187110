"""One call of a spec: what it is given, what it should give, and what was found instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Kind, Spec
from attndsl.inputs import default_dims, default_params, make_inputs, poison_absent, relay
from attndsl.reference import reference
from attndsl.reference.agreement import Agreement, compare, longest_sum

Array = np.ndarray[Any, Any]

FEW = {"B": 2, "C": 2, "H": 2, "Hq": 4, "Hkv": 2, "Y": 3, "X": 4}
"""Batches, heads, and the sides of a plane: so many tell whether they mix, and more only take longer."""


class Disagreement(AssertionError):
    """An output that rounding does not explain. `stage` is where it first appeared: a pass, `build`, a target."""

    def __init__(self, case: Case, stage: str, output: str, found: Agreement) -> None:
        self.case = case
        self.stage = stage
        self.output = output
        self.found = found
        said = {**case.types, **case.dims, **case.params}
        super().__init__(
            f"{case.spec.name}: after {stage}, `{output}` is off by {found.error:.3g}, which is more than"
            f" {found.bound:.3g}, with {', '.join(f'{name} = {value}' for name, value in said.items())}"
        )


@dataclass(frozen=True)
class Case:
    """The arrays and parameters of a call; a type variable that `types` lacks is f32."""

    spec: Spec
    types: Mapping[str, str]
    dims: Mapping[str, int]
    params: Mapping[str, Number]
    arrays: Mapping[str, Array]

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
        types = {name: element if element in allowed else allowed[0] for name, allowed in spec.types.items()}
        given = {name: size for name, size in FEW.items() if name in spec.dims} if dims is None else dims
        small: dict[str, Number] = {p.name: 2 + seed % 2 for p in spec.params if p.kind is Kind.INT}
        chosen = {**default_params(spec), **small, **(params or {})}
        extents = default_dims(spec, seed, given)
        arrays = make_inputs(spec, extents, types, seed, chosen, hostile)
        if layout is not None:
            arrays = {name: relay(array, layout) for name, array in arrays.items()}
        return cls(spec, types, extents, chosen, arrays)

    def poisoned(self) -> Case:
        """The same call with NaN and infinities in all that no output depends on."""
        return self.given(**poison_absent(self.spec, self.arrays, self.params))

    def given(self, **arrays: Array) -> Case:
        """The same call with other arrays for some inputs."""
        return replace(self, arrays={**self.arrays, **arrays})

    @cached_property
    def wanted(self) -> dict[str, Array]:
        """The outputs of the reference, in float64."""
        return reference(self.spec, self.arrays, self.params)

    @cached_property
    def terms(self) -> int:
        """The additions behind an output."""
        return longest_sum(self.spec, self.dims, self.params)

    def element(self, output: str) -> str:
        """The element type of an output."""
        element = self.spec.tensors[output].element
        return self.types.get(element, element)

    def check(self, stage: str, outputs: Mapping[str, Array], rounded: bool = False) -> None:
        """Raises Disagreement where an output is not what the reference gives.

        `rounded` says that weights were rounded to 16-bit types of the spec, as the pass narrow-products does.
        """
        weights = [element for element in self.types.values() if rounded and element in ("f16", "bf16")]
        for name, wanted in self.wanted.items():
            found = compare(self.element(name), outputs[name], wanted, self.terms, weights)
            if not found.ok:
                raise Disagreement(self, stage, name, found)
