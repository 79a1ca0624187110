"""The call that is drawn: extents at which a picture shows tiles, parameters that fit them, and inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.checking.evaluate import Number, evaluate, with_defaults
from attndsl.checking.typed import (
    Apply,
    Block,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    Read,
    Reduce,
    Spec,
    operands,
    walk,
)
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.inputs.ranges import integer_ranges

Array = np.ndarray[Any, Any]

SIDE = 64
"""How many rows and keys a picture has where nothing else is asked for; half as many where there are several blocks."""

TILES = 8
"""How many tiles a picture has along its rows and along its keys, unless they are cut unevenly."""

MOST_ROWS = 1024
"""How many rows a block of the call has at most where nothing else is asked for: the reference computes each."""

MOST_ASKED, MOST_PAIRS = 2**13, 2**20
"""How many rows, and pairs of a row and a key, a call may have at all."""

FEW = 2
"""How many heads or requests it has at best."""


@dataclass(frozen=True)
class DrawnCall:
    """A call of a spec, and the element types that it has."""

    spec: Spec
    types: Mapping[str, str]
    dims: Mapping[str, int]
    params: Mapping[str, Number]
    arrays: Mapping[str, Array]


def make_call(
    spec: Spec, types: Mapping[str, str], shape: Mapping[str, int], params: Mapping[str, Number]
) -> DrawnCall:
    """A call with these extents and parameters, and what goes with them. Raises ValueError where nothing does.

    Data are such that a picture shows what they are for: lengths fall evenly from one request to the next, labels rise
    as those of documents packed in a row do, flags come before those that are not set. Where keys say which rows see
    them, those do that see them in causal attention.
    """
    spec = spec.where(types)
    small = {
        param.name: FEW if param.default is None and param.name in spec.sizes else min(SIDE // 4, param.default or SIDE)
        for param in spec.params
        if param.kind is Kind.INT and param.formula is None
    }
    dims, given = _extents(spec, shape, [{**small, **params}, dict(params)])
    known = with_defaults(spec.params, dims, {**default_params(spec), **given})
    for block in spec.blocks:
        rows = math.prod(evaluate(index.bound, dims, known) for index in block.each)
        keys = math.prod(_largest(index.bound, dims, known) for index in block.over)
        if rows > MOST_ASKED or (block.over and rows * keys > MOST_PAIRS):
            raise ValueError(
                f"a drawing of {spec.name} with {rows} rows and {keys if block.over else 'no'} keys is more than can be"
                f" shown: give smaller extents"
            )
    arrays = make_inputs(spec, dims, types, 0, known)
    sensible = integer_ranges(spec, dims, known)
    bounds = dict(_row_bounds(spec, dims, known))
    for tensor in spec.inputs:
        array, kind, sense = arrays[tensor.name], spec.kind(tensor), sensible.get(tensor.name)
        if tensor.name in bounds and (sense is None or sense.use == "position"):
            first, rows = bounds[tensor.name]
            least = np.iinfo(array.dtype).min
            array[...] = np.arange(rows - array.shape[-1], rows).clip(min=least) if first else rows
        elif kind is Kind.INT and array.ndim == 1 and sense is not None and sense.use in ("extent", "position"):
            array[:] = [-(-sense.high * left // array.size) for left in range(array.size, 0, -1)]
        elif kind is Kind.INT and array.ndim and sense is None:
            array.sort(axis=-1)
        elif kind is Kind.BOOL and 0 < array.ndim <= FEW:
            array[...] = np.sort(array, axis=-1)[..., ::-1]
    return DrawnCall(spec, types, dims, known, arrays)


def _row_bounds(
    spec: Spec, dims: Mapping[str, int], known: Mapping[str, Number]
) -> Iterator[tuple[str, tuple[bool, int]]]:
    """The inputs that say from which row a key is seen, or up to which: whether the former, and the number of rows."""
    for block in spec.blocks:
        for expr in walk(*(write.value for write in block.writes)):
            match expr:
                case Apply(operator="ile" | "ilt", arguments=(least, most)):
                    pass
                case Apply(operator="ige" | "igt" | "isub", arguments=(most, least)):
                    pass
                case _:
                    continue
            match least, most:
                case (Read() as read, IndexValue(index=row)) | (IndexValue(index=row), Read() as read):
                    at = read.indices[-1] if read.indices else None
                    if row in block.each and isinstance(at, IndexValue) and at.index in block.over:
                        yield read.tensor.name, (read is least, int(evaluate(row.bound, dims, known)))


def _largest(bound: Expr, dims: Mapping[str, int], known: Mapping[str, Number]) -> int:
    """How many keys a row may have; one where that rests on the row."""
    try:
        return int(evaluate(bound, dims, known))
    except (ValueError, ZeroDivisionError):
        return 1


def _extents(
    spec: Spec, shape: Mapping[str, int], params: list[dict[str, Number]]
) -> tuple[dict[str, int], dict[str, Number]]:
    """Extents, and the first of the choices of parameters that they go with: few heads if they can be few."""
    error = ValueError()
    for given in params:
        sides = _sides(spec, given)
        others = {dim: FEW for block in spec.blocks for index in block.each for dim in _dims(index.bound)}
        others |= _groups(spec)
        for wanted in ({**others, **sides}, sides, {}):
            try:
                return default_dims(spec, given={**wanted, **shape}, params=given), given
            except ValueError as caught:
                error = caught
    raise error


def _groups(spec: Spec) -> dict[str, int]:
    """Extents for dims of which one is to divide the other: groups of more than one."""
    found: dict[str, int] = {}
    for expr in walk(*spec.requires):
        match expr:
            case Apply(operator="imod", arguments=(DimValue(name=whole), DimValue(name=part))):
                found |= {whole: FEW, part: 1}
    return found


def _sides(spec: Spec, params: Mapping[str, Number]) -> dict[str, int]:
    """Extents for the dims that rows and keys of blocks have, such that there are at most SIDE of each."""
    found: dict[str, int] = {}
    known = {**default_params(spec), **params}
    most = SIDE if len(spec.blocks) == 1 else SIDE // 2
    for block in spec.blocks:
        if block.over:
            found |= _side(spec, block.over, most, found, known)
            rows = row_variables(block)
            several = {*rows} & {i for over in block.over for i in _indices(over.extent)}
            side = _side(spec, rows, TILES if several else most, found, known)
            if len(block.each) == len(rows) or _rows(spec, block, {**found, **side}, known) <= MOST_ROWS:
                found |= side
    return found


def fitting(spec: Spec, shape: Mapping[str, int]) -> dict[str, int]:
    """Of extents that are meant for a call, those of rows and keys that a picture can show as they are."""
    blocks = [block for block in spec.blocks if block.over]
    indices = [index for block in blocks for index in (*block.over, *row_variables(block))]
    shown = {dim for index in indices for dim in _dims(index.bound)}
    return {dim: size for dim, size in shape.items() if dim in shown and size <= SIDE}


def _rows(spec: Spec, block: Block, dims: Mapping[str, int], known: Mapping[str, Number]) -> int:
    """How many rows a block has with these extents, and few of all else."""
    try:
        return math.prod(evaluate(i.bound, {**dict.fromkeys(spec.dims, FEW), **dims}, known) for i in block.each)
    except (ZeroDivisionError, ValueError, KeyError):
        return MOST_ROWS + 1


def _side(
    spec: Spec, indices: tuple[Index, ...], most: int, found: Mapping[str, int], known: Mapping[str, Number]
) -> dict[str, int]:
    """An extent for the dims that variables have, and nothing has said: such that there are at most so many values."""
    dims = [dim for index in indices for dim in _dims(index.bound) if dim not in found]
    others = dict.fromkeys(spec.dims, 1)
    for size in (SIDE, SIDE // 2, SIDE // 4, SIDE // 8):
        chosen = dict.fromkeys(dims, size)
        with suppress(ZeroDivisionError, ValueError, KeyError):
            if math.prod(evaluate(index.bound, {**others, **found, **chosen}, known) for index in indices) <= most:
                return chosen
    return {}


def row_variables(block: Block) -> tuple[Index, ...]:
    """The variables of rows that a picture's rows run through; the others say which head or request it is.

    They are compared where the mask is computed, or have the range of the keys. Where there are no such, it is the last
    one that no features of keys are read at, or by which keys differ in number.
    """
    reduces = [expr for write in block.writes for expr in walk(write.value) if isinstance(expr, Reduce)]
    masks = [expr.mask for expr in reduces if expr.mask is not None]
    compared = {expr.index for expr in _outside_reads(masks) if isinstance(expr, IndexValue)}
    ranges = [_dims(index.bound) for index in block.over]
    found = [i for i in block.each if i in compared or (i.extent is i.bound and _dims(i.bound) in ranges)]
    if not found:
        reads = [expr for write in block.writes for expr in walk(write.value) if isinstance(expr, Read)]
        used = [_indices(read) for read in reads]
        keyed = {i for each in used if each & {*block.over} and any(i.role == "axis" for i in each) for i in each}
        found = [index for index in block.each if index not in keyed][-1:]
    if not found:
        counts = {i for over in block.over for i in _indices(over.extent)}
        found = [index for index in block.each if index in counts][-1:]
    return tuple(found)


def _indices(expr: Expr) -> set[Index]:
    return {inner.index for inner in walk(expr) if isinstance(inner, IndexValue)}


def _outside_reads(exprs: list[Expr]) -> Iterator[Expr]:
    yield from walk(*exprs, through=lambda expr: () if isinstance(expr, Read) else operands(expr))


def _dims(expr: Expr) -> tuple[str, ...]:
    return tuple(dict.fromkeys(inner.name for inner in walk(expr) if isinstance(inner, DimValue)))
