"""Small extents and parameters that meet a spec's conditions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import DimValue, Expr, Kind, Spec, walk

SMALL = (3, 6, 5, 7, 9, 4, 8, 2)
"""Extents to try first, each dim from its own place on, so that neighbours differ."""

OTHERS = (1, 16, 32, 64, 128, 256, 512)
"""Extents to try where a condition asks for them."""

MAX_TRIALS = 100_000

_PARAMS: dict[Kind, int | float | bool] = {Kind.INT: 2, Kind.FLOAT: 0.5, Kind.BOOL: True}


def default_params(spec: Spec) -> dict[str, int | float | bool]:
    """The default of every parameter, a small value where it has none."""
    return {p.name: _PARAMS[p.kind] if p.default is None else p.default for p in spec.params}


def default_dims(spec: Spec, seed: int = 0, given: Mapping[str, int] | None = None) -> dict[str, int]:
    """Small extents that meet every `require` at the default parameters and make no tensor empty; `given` ones stay.

    Another seed gives others. Raises ValueError where the search finds none.
    """
    fixed, params = dict(given or {}), default_params(spec)
    order = [name for name in spec.dims if name not in fixed]
    small = list(SMALL)
    if seed:
        random.Random(seed).shuffle(small)
    conditions = [(_dims(e), e, True) for e in spec.requires]
    empty = {name for name, size in fixed.items() if size == 0}  # asked for
    extents = [e for tensor in spec.tensors.values() for e in tensor.extents]
    conditions += [(needed, e, False) for e in extents if not (needed := _dims(e)) & empty]
    trials = 0

    def holds(dims: Mapping[str, int], name: str | None) -> bool:
        """Whether the conditions hold that are decided by now, and were not before `name` was."""
        for needed, expr, required in conditions:
            decided = needed <= dims.keys() and (name in needed if name else True)
            if decided and not _met(expr, dims, params, required):
                return False
        return True

    def search(dims: dict[str, int], rest: Sequence[str]) -> dict[str, int] | None:
        nonlocal trials
        if not rest:
            return dims
        place = len(dims) % len(small)
        for size in (*small[place:], *small[:place], *OTHERS):
            trials += 1
            if trials > MAX_TRIALS:
                return None
            wider = {**dims, rest[0]: size}
            if holds(wider, rest[0]) and (found := search(wider, rest[1:])) is not None:
                return found
        return None

    found = search(fixed, order) if holds(fixed, None) else None
    if found is None:
        raise ValueError(f"no small extents of {', '.join(order) or 'no dims'} meet the conditions of `{spec.name}`")
    return {name: found[name] for name in spec.dims}


def _dims(expr: Expr) -> frozenset[str]:
    return frozenset(e.name for e in walk(expr) if isinstance(e, DimValue))


def _met(expr: Expr, dims: Mapping[str, int], params: Mapping[str, Any], required: bool) -> bool:
    try:
        value = evaluate(expr, dims, params)
    except ArithmeticError:
        return False
    return bool(value) if required else value > 0
