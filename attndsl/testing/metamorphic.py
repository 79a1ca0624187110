"""Specs written in other ways that mean the same, and what a call of the one is of the other: no reference is needed.

A relation rewrites the text, so that what reads it is tried too. Where nothing numeric changes (names, order, where a
definition stands) the same bits come out; elsewhere both are within their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.layouts import LAYOUT
from attndsl.checking.typed import Spec
from attndsl.diagnostics.base import SpecError
from attndsl.reference.dims import dims_of
from attndsl.storage import decode
from attndsl.syntax.source import Source
from attndsl.testing.case import Array, Case, Disagreement
from attndsl.testing.choices import Choices
from attndsl.testing.definitions import inlined, named
from attndsl.testing.dimensions import divided, permuted, rows_permuted
from attndsl.testing.ordering import reordered
from attndsl.testing.phrasing import negated, turned
from attndsl.testing.renaming import names_of, with_names

T = TypeVar("T")


@dataclass(frozen=True)
class Twin:
    """Another text of a spec, and what a call of it is given.

    `names` are what names of the call are called there. `axes` has the axes of tensors that stand in another order, and
    `cut`, for inputs with one axis made into two, that axis and the extent of the inner one. `exact` says that no bit
    of an output changes.
    """

    relation: str
    text: str
    exact: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    cut: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Twin:
        """A twin that `asdict` made plain data of, after a journey through JSON."""
        axes, cut = ({name: tuple(numbers) for name, numbers in data[field].items()} for field in ("axes", "cut"))
        return cls(**{**data, "axes": axes, "cut": cut})

    def of(self, case: Case) -> Case:
        """The call of this text that `case` is of the other. Raises SpecError."""
        types = self._renamed(case.types)
        spec = check(Source(self.text, "twin.attn")).where(types)
        arrays = {self.names.get(name, name): self._laid(name, array) for name, array in case.arrays.items()}
        params = self._renamed(case.params)
        return Case(spec, types, dims_of(spec, arrays, params), params, arrays)

    def back(self, case: Case, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of this text as the other one has them."""
        found = {}
        for tensor in case.spec.results:
            array = outputs[self.names.get(tensor.name, tensor.name)]
            axes = self.axes.get(tensor.name)
            found[tensor.name] = array if axes is None else array.transpose(np.argsort(axes))
        return found

    def _laid(self, name: str, array: Array) -> Array:
        if name in self.axes:
            return array.transpose(self.axes[name])
        if name in self.cut:
            axis, inner = self.cut[name]
            sizes = (*array.shape[:axis], array.shape[axis] // inner, inner, *array.shape[axis + 1 :])
            return array.reshape(sizes)
        return array

    def _renamed(self, given: Mapping[str, T]) -> dict[str, T]:
        return {self.names.get(name, name): value for name, value in given.items()}


Relation = Callable[[Choices, Case], Twin | None]
"""Makes a twin of the spec of a case, and nothing of one that it does not apply to."""


def _renamed(choices: Choices, case: Case) -> Twin:
    """Each name is another one, and they sort the other way round."""
    text = case.spec.source.text
    found = names_of(text)
    names = {name: f"name_{len(found) - number:03}" for number, name in enumerate(found)}
    return Twin("renamed", with_names(text, names), names=names)


def _reordered(choices: Choices, case: Case) -> Twin:
    """Declarations and statements stand in another order."""
    return Twin("reordered", reordered(case.spec.source.text, choices.of))


def _rewritten(name: str, rewrite: Callable[[Choices, Spec], str | None], exact: bool = True) -> Relation:
    """The relation of a rewriting that leaves calls as they are."""

    def relation(choices: Choices, case: Case) -> Twin | None:
        text = rewrite(choices, case.spec)
        return None if text is None else Twin(name, text, exact)

    return relation


def _permuted(choices: Choices, case: Case) -> Twin | None:
    """The axes of a tensor stand in another order, and those of its array."""
    if (found := permuted(choices, case.spec)) is None:
        return None
    text, tensor, axes = found
    twin = Twin("axes permuted", text, exact=False, axes={tensor: axes})
    if LAYOUT in case.spec.schedule:
        try:
            twin.of(case)
        except SpecError:  # no output can lie as an input does whose axes stand in this order
            return None
    return twin


def _divided(choices: Choices, case: Case) -> Twin | None:
    """An axis of an input is two, whose extents make up the old one."""
    if (found := divided(choices, case.spec, case.arrays)) is None:
        return None
    text, tensor, axis, inner = found
    twin = Twin("dim split", text, exact=False, cut={tensor: (axis, inner)})
    try:
        twin.of(case)
    except SpecError:  # a bound that was found in `x[j]` need not be found in `x[j / 2, j % 2]`
        return None
    return twin


RELATIONS: dict[str, Relation] = {
    "renamed": _renamed,
    "reordered": _reordered,
    "definition inlined": _rewritten("definition inlined", inlined),
    "expression named": _rewritten("expression named", named),
    "comparisons turned round": _rewritten("comparisons turned round", turned),
    "comparisons negated": _rewritten("comparisons negated", negated, exact=False),
    "rows permuted": _rewritten("rows permuted", rows_permuted, exact=False),
    "axes permuted": _permuted,
    "dim split": _divided,
}
"""The relations by name."""


def draw_twin(choices: Choices, case: Case) -> Twin | None:
    """A twin of a case's spec; mostly none, since it takes another compilation."""
    if choices.of((True, True, True, False)):
        return None
    return choices.of([*RELATIONS.values()])(choices, case)


def check_twin(case: Case, twin: Twin, run: Callable[[Case], Mapping[str, Array]], narrowed: bool = False) -> float:
    """The largest error of what `run` gives for a twin, as a share of its bound. Raises Disagreement."""
    other = twin.of(case)
    found = twin.back(case, run(other))
    used = case.check(twin.relation, found, narrowed)
    if twin.exact:
        _check_equal(case, f"{twin.relation}, in the reference", case.wanted, twin.back(case, other.wanted))
        _check_equal(case, twin.relation, *(_decoded(case, outputs) for outputs in (run(case), found)))
    else:
        other.check(f"{twin.relation}, of the twin", run(other), narrowed)
    return used


def _decoded(case: Case, outputs: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.asarray(decode(array, case.element(name))) for name, array in outputs.items()}


def _check_equal(case: Case, stage: str, wanted: Mapping[str, Array], found: Mapping[str, Array]) -> None:
    """Raises Disagreement where outputs are not the same numbers."""
    for name, array in wanted.items():
        if not np.array_equal(array, found[name], equal_nan=True):
            raise Disagreement.between(case, stage, name, found[name], array)
