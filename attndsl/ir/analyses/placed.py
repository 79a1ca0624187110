"""Which tiles have rows of a tensor that a table or a formula places, as they lie in memory. An analysis of `tile`."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.xdsl import SSAValue, f32


def placed_rows(value: SSAValue, axes: AxesAnalysis) -> tile.LoadOp | None:
    """The load in f32 of rows, whole or a part of each, that a tile has, laid end to end or as they were read.

    None where there is none, where nothing computed places them, or where something else takes what is laid end to end.
    """
    laid = [*lays(value)]
    load = laid[-1].owner
    if not isinstance(load, tile.LoadOp) or load.result.type != f32 or not load.indices:
        return None
    features, others = load.indices[-1], load.indices[:-1]
    conditions = () if load.where is None else (load.where,)
    if not isinstance(features.owner, tile.RangeOp) or tile.is_key(features):
        return None
    if any(features in axes(each) for each in (*others, *conditions)):
        return None
    if not any(axes(each) and not isinstance(each.owner, tile.RangeOp) for each in others):
        return None
    for each, user in zip(laid[1:], laid, strict=False):
        flatten = user.owner
        if not isinstance(flatten, tile.FlattenOp) or tile.users(each) != [flatten] or flatten.within not in axes(each):
            return None
    element = spec.enclosing_tensor(load, load.tensor.string_value()).element.data
    return load if element == "f32" else None


def lays(value: SSAValue) -> Iterator[SSAValue]:
    """A tile, and those of blocks that it lays end to end."""
    yield value
    if isinstance(value.owner, tile.FlattenOp):
        yield from lays(value.owner.value)
