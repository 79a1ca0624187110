"""Totals: what rows add to an output whose element type rounds more than sums may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.checking.typed import Index, IndexValue, Spec, Tensor, Write
from attndsl.ir.workspaces import fresh
from attndsl.syntax.source import Span


@dataclass(frozen=True)
class Total:
    """A workspace for the sums of an output, from which they are stored in it, rounded once.

    Its dimensions are called `variables`; `features` are those that each write takes whole. The blocks from `first` to
    `last` add to it.
    """

    output: Tensor
    name: str
    variables: tuple[str, ...]
    features: frozenset[str]
    first: int
    last: int
    span: Span


def totals_of(checked: Spec, elements: Mapping[str, str], compute: str) -> list[Total]:
    """The totals of a spec whose tensors have these element types, and which computes in the type `compute`."""
    added: dict[Tensor, list[tuple[int, Write]]] = {}
    for number, block in enumerate(checked.blocks):
        for write in block.writes:
            if write.adds and elements[write.tensor.name] != compute:
                added.setdefault(write.tensor, []).append((number, write))
    taken = {*checked.tensors, *checked.dims, *(param.name for param in checked.params)}
    totals = []
    for tensor, writes in added.items():
        name = fresh(f"{tensor.name}_total", taken)
        taken.add(name)
        numbers = [number for number, _ in writes]
        variables, features = _dimensions([write for _, write in writes])
        span = writes[-1][1].span
        totals.append(Total(tensor, name, variables, features, min(numbers), max(numbers), span))
    return totals


def _dimensions(writes: list[Write]) -> tuple[tuple[str, ...], frozenset[str]]:
    """What the dimensions of an output may be called, each otherwise, and which of them are features in all writes."""
    names: list[str] = []
    features = set()
    for places in zip(*(write.indices for write in writes), strict=True):
        found = [_variable(place) for place in places]
        known = found[0].name if found[0] is not None else "at"
        names.append(fresh(known, names))
        if all(index is not None and index in write.axes for index, write in zip(found, writes, strict=True)):
            features.add(names[-1])
    return tuple(names), frozenset(features)


def _variable(place: object) -> Index | None:
    return place.index if isinstance(place, IndexValue) else None
