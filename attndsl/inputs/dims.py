"""Small extents and parameters that meet a spec's conditions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from attndsl.checking.evaluate import evaluate
from attndsl.checking.text import expression_text
from attndsl.checking.typed import Apply, DimValue, Expr, Kind, ParamValue, Spec, walk
from attndsl.inputs.ranges import integer_ranges, placing

SMALL = (3, 6, 5, 7, 9, 4, 8, 2)
"""Extents to try first, each dim from its own place on, so that neighbours differ."""

OTHERS = (1, 16, 32, 64, 128, 256, 512)
"""Extents to try where a condition asks for them."""

MAX_TRIALS = 100_000

ROOM_TRIALS = 100
"""Extents with too few places that are tried before such are taken."""

_PARAMS: dict[Kind, int | float | bool] = {Kind.INT: 2, Kind.FLOAT: 0.5, Kind.BOOL: True}


def default_params(spec: Spec) -> dict[str, int | float | bool]:
    """The default of every parameter, a small value where it has none; not of those with a formula, which dims tell."""
    return {p.name: _PARAMS[p.kind] if p.default is None else p.default for p in spec.params if p.formula is None}


class _Condition(NamedTuple):
    """What the extents have to meet: a `require`, or the `least` extent of a `tensor`, 1 unless it is to be empty."""

    expr: Expr
    dims: frozenset[str]
    tensor: str = ""
    least: int = 1

    def holds(self, dims: Mapping[str, int], params: Mapping[str, Any]) -> bool:
        try:
            value = evaluate(self.expr, dims, params)
        except ArithmeticError:
            return False
        return value >= self.least if self.tensor else bool(value)


def default_dims(
    spec: Spec,
    seed: int = 0,
    given: Mapping[str, int] | None = None,
    params: Mapping[str, int | float | bool] | None = None,
) -> dict[str, int]:
    """Small extents that meet every `require` and make no tensor empty; `given` ones stay.

    Where the search finds such, rows that data sends to their places have one each.

    Parameters that `params` lacks have their defaults. Another seed gives other extents. Raises ValueError, which names
    what cannot be met, where the search finds none.
    """
    fixed = dict(given or {})
    empty = {name for name, size in fixed.items() if size == 0}  # asked for
    known = {**default_params(spec), **(params or {})}
    formulas = {p.name: p.formula for p in spec.params if p.formula is not None and p.name not in known}
    conditions = [_Condition(e, _dims(e)) for e in (_computed(e, formulas) for e in spec.requires)]
    shapes = ((t.name, _computed(extent, formulas)) for t in spec.tensors.values() for extent in t.extents)
    conditions += [_Condition(e, needed, name, int(not needed & empty)) for name, e in shapes for needed in [_dims(e)]]
    sizes = list(SMALL)
    if seed:
        random.Random(seed).shuffle(sizes)
    search = _ExtentSearch(fixed, known, sizes)
    found = search.extents(spec.dims, [*conditions, *_places(spec)]) or search.extents(spec.dims, conditions)
    if found is None:
        raise ValueError(_reason(spec, search, conditions))
    return {name: found[name] for name in spec.dims}


class _Room:
    """That the places which data names for rows of a spec are as many as are named: given up where it seldom is so."""

    def __init__(self, spec: Spec) -> None:
        self.dims = frozenset(spec.dims)
        self._spec = spec
        self._tries = ROOM_TRIALS

    def holds(self, dims: Mapping[str, int], params: Mapping[str, Any]) -> bool:
        if self._tries == 0 or places_suffice(self._spec, dims, params):
            return True
        self._tries -= 1
        return False


def _places(spec: Spec) -> list[_Room]:
    return [_Room(spec)] if placing(spec) else []


def places_suffice(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Any]) -> bool:
    """Whether each input that says where rows write may hold as many different places as it has elements."""
    ranges = integer_ranges(spec, dims, params)
    apart = [name for name in placing(spec) if name in ranges and ranges[name].apart]
    shapes = {name: [evaluate(e, dims, {}) for e in spec.tensors[name].extents] for name in apart}
    return all(math.prod(shape) <= ranges[name].high + 1 for name, shape in shapes.items())


class _ExtentSearch:
    """Looks for extents beside `fixed` ones."""

    def __init__(self, fixed: dict[str, int], params: Mapping[str, Any], small: Sequence[int]) -> None:
        self.fixed = fixed
        self.params = params
        self._small = small
        self._trials = 0

    def extents(self, names: Iterable[str], conditions: Sequence[_Condition | _Room]) -> dict[str, int] | None:
        """Extents of the dims `names` that meet some conditions."""
        self._trials = 0
        if not self._hold(conditions, self.fixed, None):
            return None
        return self._search(conditions, self.fixed, [name for name in names if name not in self.fixed])

    def _search(
        self, conditions: Sequence[_Condition | _Room], dims: dict[str, int], rest: Sequence[str]
    ) -> dict[str, int] | None:
        if not rest:
            return dims
        place = len(dims) % len(self._small)
        for size in (*self._small[place:], *self._small[:place], *OTHERS):
            self._trials += 1
            if self._trials > MAX_TRIALS:
                return None
            wider = {**dims, rest[0]: size}
            if self._hold(conditions, wider, rest[0]) and (found := self._search(conditions, wider, rest[1:])):
                return found
        return None

    def _hold(self, conditions: Sequence[_Condition | _Room], dims: Mapping[str, int], name: str | None) -> bool:
        """Whether the conditions hold that are decided by now, and were not before `name` was."""
        decided = (c for c in conditions if c.dims <= dims.keys() and (name is None or name in c.dims))
        return all(condition.holds(dims, self.params) for condition in decided)


def _reason(spec: Spec, search: _ExtentSearch, conditions: Sequence[_Condition]) -> str:
    """Why there are no extents: the first condition that cannot be met with those before it."""
    for number, condition in enumerate(conditions):
        first = conditions[: number + 1]
        needed = {name for c in first for name in c.dims}
        if search.extents([name for name in spec.dims if name in needed], first) is not None:
            continue
        text = expression_text(condition.expr)
        wants = f"{spec.name} requires {text}"
        if condition.tensor:
            wants = f"{condition.tensor} of {spec.name} is not empty where {text} is above 0"
            if not condition.least:
                wants = f"{condition.tensor} of {spec.name} needs {text} of 0 or more"
        known = {name: size for name, size in search.fixed.items() if name in condition.dims}
        known |= {e.name: search.params[e.name] for e in walk(condition.expr) if isinstance(e, ParamValue)}
        given = " and ".join(f"{name} = {value}" for name, value in known.items())
        free = [name for name in spec.dims if name in condition.dims and name not in search.fixed]
        if not free:
            return f"{wants}, which does not hold{f' for {given}' if given else ''}"
        meets = "meets" if len(free) == 1 else "meet"
        rest = "" if search.extents(free, [condition]) is None else " and what is required before it"
        return f"{wants}; no small {' and '.join(free)} {meets} that{rest}{f' with {given}' if given else ''}"
    return f"no small extents were found that meet the conditions of {spec.name}"


def _computed(expr: Expr, formulas: Mapping[str, Expr]) -> Expr:
    """A condition with formulas in the place of parameters that are left out."""
    match expr:
        case ParamValue(name=name) if name in formulas:
            return _computed(formulas[name], formulas)
        case Apply():
            return replace(expr, arguments=tuple(_computed(each, formulas) for each in expr.arguments))
    return expr


def _dims(expr: Expr) -> frozenset[str]:
    return frozenset(e.name for e in walk(expr) if isinstance(e, DimValue))
