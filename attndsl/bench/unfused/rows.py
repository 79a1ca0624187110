"""The expressions of a block, for a range of values of each of its variables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from attndsl.bench.unfused.operators import ON_TENSORS, present_of
from attndsl.bench.unfused.tensors import Axes, MaskedTensor, along, both, broadcast, contract, union
from attndsl.checking.numbers import single
from attndsl.checking.typed import (
    FOLDS,
    POSITIONS,
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Write,
    operands,
)

if TYPE_CHECKING:
    from attndsl.bench.unfused.call import UnfusedCall

LARGEST = 2**63 - 1
"""Stands for no position."""

DTYPES = {Kind.INT: torch.int64, Kind.BOOL: torch.bool}


class Rows:
    """The expressions of a block for a range of values of each of its variables."""

    def __init__(self, call: UnfusedCall, block: Block, ranges: Mapping[Index, range]) -> None:
        self.call, self.block = call, block
        self.ranges = dict(ranges)
        self.known: dict[Expr, MaskedTensor] = {}

    def range_of(self, index: Index) -> range:
        """The values of a variable here."""
        if index not in self.ranges:
            self.ranges[index] = range(self.call.evaluate(index.extent))
        return self.ranges[index]

    def sizes(self, axes: Axes) -> dict[Index, int]:
        """How many values each of several variables takes."""
        return {axis: len(self.range_of(axis)) for axis in axes}

    def tensor(self, expr: Expr) -> MaskedTensor:
        """The values of an expression; each expression is evaluated once."""
        if expr not in self.known:
            self.known[expr] = self._evaluate(expr)
        return self.known[expr]

    def write(self, write: Write, output: torch.Tensor) -> None:
        """Puts these rows' part of an output into it, or adds it."""
        value = self.tensor(write.value)
        axes = (*self.block.each, *write.axes)
        sizes = self.sizes(axes)
        indices = [self.tensor(index) for index in write.indices]
        inside = self._inside(indices, [self.call.evaluate(e) for e in write.tensor.extents])
        inside += [limit for index in self.block.each for limit in self._limits(index)]
        if write.keeps and value.present is not None:
            inside.append(MaskedTensor(value.axes, value.present))
        kept = both([MaskedTensor(part.axes, part.value) for part in inside])
        filled = (
            value.value if value.present is None else torch.where(value.present, value.value, value.value.new_zeros(()))
        )
        filled = broadcast(filled, value.axes, axes, sizes).to(output.dtype)
        places = [broadcast(index.value, index.axes, axes, sizes) for index in indices]
        if kept is not None:
            where = broadcast(kept.value, kept.axes, axes, sizes)
            places, filled = [place[where] for place in places], filled[where]
        if places:
            output.index_put_(tuple(places), filled, accumulate=write.adds)
        else:
            output += filled.sum()

    def _evaluate(self, expr: Expr) -> MaskedTensor:
        match expr:
            case Constant(kind=kind, value=value):
                return self._scalar(kind, value)
            case DimValue(name=name):
                return self._scalar(Kind.INT, self.call.dims[name])
            case ParamValue(kind=Kind.FLOAT, name=name):
                return self._scalar(Kind.FLOAT, single(self.call.params[name]))
            case ParamValue(kind=kind, name=name):
                return self._scalar(kind, self.call.params[name])
            case IndexValue(index=index):
                values = self.range_of(index)
                return MaskedTensor((index,), torch.arange(values.start, values.stop, device=self.call.device))
            case Read():
                return self._read(expr)
            case Apply():
                return self._apply(expr)
            case ReduceAxis():
                return self._sum(expr) if expr.function == "sum" else self._extreme(expr)
            case Reduce():
                return self._reduce(expr)
        raise TypeError(f"an expression is no {type(expr).__name__}")

    def _scalar(self, kind: Kind, value: Any) -> MaskedTensor:
        return MaskedTensor((), torch.tensor(value, dtype=DTYPES.get(kind, self._float()), device=self.call.device))

    def _float(self) -> torch.dtype:
        return self.call.precision or torch.float32

    def _read(self, expr: Read) -> MaskedTensor:
        """Slices where an index is a variable of its own, a gather over the rest."""
        tensor = self.call.tensors[expr.tensor.name]
        if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:
            tensor = tensor.to(self.call.precision or torch.bfloat16)  # torch computes with no 8-bit floats
        indices = [self.tensor(index) for index in expr.indices]
        sliced = self._sliced(expr, tensor.shape)
        for number, variable in sliced.items():
            values = self.range_of(variable)
            tensor = tensor.narrow(number, values.start, len(values))
        order = [number for number in range(tensor.ndim) if number not in sliced]
        gathered = [indices[number] for number in order]
        tensor = tensor.permute((*order, *sliced))
        extents = tensor.shape[: len(order)]
        present = both(self._inside(gathered, extents))
        axes = union(index.axes for index in gathered)
        if gathered:
            valid = [index.value.clamp(0, extent - 1) for index, extent in zip(gathered, extents, strict=True)]
            tensor = gathered_at(tensor, [along(v, i.axes, axes) for v, i in zip(valid, gathered, strict=True)])
        axes += tuple(sliced.values())
        where = None if present is None else broadcast(present.value, present.axes, axes, self.sizes(axes))
        return MaskedTensor(axes, tensor.to(self._stored(tensor)), where)

    def _sliced(self, expr: Read, shape: Sequence[int]) -> dict[int, Index]:
        """The dimensions that are read through a variable, one that no other index uses and that stays inside."""
        uses = [axis for index in expr.indices for axis in self.tensor(index).axes]
        return {
            number: index.index
            for number, index in enumerate(expr.indices)
            if isinstance(index, IndexValue)
            and uses.count(index.index) == 1
            and self.range_of(index.index).stop <= shape[number]
        }

    def _stored(self, tensor: torch.Tensor) -> torch.dtype:
        """The dtype in which the elements of a tensor are computed with."""
        if tensor.dtype.is_floating_point:
            return self.call.precision or tensor.dtype
        return tensor.dtype if tensor.dtype is torch.bool else torch.int64

    def _inside(self, indices: Sequence[MaskedTensor], extents: Sequence[int]) -> list[MaskedTensor]:
        """Where indices are present and in range: a truth value for each of them that is not so everywhere."""
        found = []
        for index, extent in zip(indices, extents, strict=True):
            inside = (index.value >= 0) & (index.value < extent)
            if index.present is not None:
                inside &= index.present
            if not bool(inside.all()):
                found.append(MaskedTensor(index.axes, inside))
        return found

    def _limits(self, index: Index) -> list[MaskedTensor]:
        """Where a variable is below its extent and its bound: a truth value for each that differs from row to row."""
        found = []
        for expr in dict.fromkeys((index.extent, index.bound)):
            try:
                self.call.evaluate(expr)
            except ValueError:
                limit = self.tensor(expr)
                axes = union([limit.axes, (index,)])
                value = self.values_of(index, axes) < along(limit.value, limit.axes, axes)
                if limit.present is not None:
                    value = value & along(limit.present, limit.axes, axes)
                found.append(MaskedTensor(axes, value))
        return found

    def values_of(self, index: Index, axes: Axes) -> torch.Tensor:
        """The values of a variable, along `axes`."""
        values = self.range_of(index)
        return along(torch.arange(values.start, values.stop, device=self.call.device), (index,), axes)

    def _apply(self, expr: Apply) -> MaskedTensor:
        arguments = [self.tensor(argument) for argument in expr.arguments]
        axes = union(argument.axes for argument in arguments)
        values = [along(argument.value, argument.axes, axes) for argument in arguments]
        value = values[0].to(self._float()) if expr.operator == "float" else ON_TENSORS[expr.operator](*values)
        if all(argument.present is None for argument in arguments) and expr.operator not in ("idiv", "imod"):
            return MaskedTensor(axes, value)
        presents = [
            torch.ones_like(v, dtype=torch.bool) if a.present is None else along(a.present, a.axes, axes)
            for a, v in zip(arguments, values, strict=True)
        ]
        present = present_of(expr.operator, values, presents)
        return MaskedTensor(axes, value, None if bool(present.all()) else present.expand(value.shape))

    def _sum(self, expr: ReduceAxis) -> MaskedTensor:
        factors = [self.tensor(factor) for factor in factors_of(expr.body)]
        axes = tuple(axis for axis in union(factor.axes for factor in factors) if axis is not expr.index)
        value = contract(factors, axes)
        if not any(expr.index in factor.axes for factor in factors):
            value = value * len(self.range_of(expr.index))
        absent = both([MaskedTensor(f.axes, f.present) for f in factors if f.present is not None])
        if absent is None:
            return MaskedTensor(axes, value)
        return MaskedTensor(axes, value, self._everywhere(absent, expr.index, axes))

    def _extreme(self, expr: ReduceAxis) -> MaskedTensor:
        body = self.tensor(expr.body)
        axes = tuple(axis for axis in body.axes if axis is not expr.index)
        every = (*axes, expr.index)
        value = extreme(expr.function, broadcast(body.value, body.axes, every, self.sizes(every)))
        if body.present is None:
            return MaskedTensor(axes, value)
        return MaskedTensor(axes, value, self._everywhere(MaskedTensor(body.axes, body.present), expr.index, axes))

    def _everywhere(self, present: MaskedTensor, index: Index, axes: Axes) -> torch.Tensor:
        """Where all terms of a reduction over an axis are present, along `axes`."""
        everywhere = self._all(present, (index,))
        return broadcast(everywhere.value, everywhere.axes, axes, self.sizes(axes))

    def _all(self, masked: MaskedTensor, axes: Axes) -> MaskedTensor:
        """Where a truth value holds for all values of some variables."""
        over = [number for number, axis in enumerate(masked.axes) if axis in axes]
        value = masked.value.all(dim=tuple(over)) if over else masked.value
        return MaskedTensor(tuple(axis for axis in masked.axes if axis not in axes), value)

    def _kept(self, expr: Reduce, parts: list[MaskedTensor]) -> MaskedTensor | None:
        """Which key positions a reduction counts; None for all."""
        kept = [limit for index in self.block.over for limit in self._limits(index)]
        for part in parts:
            if part.present is not None:
                wide = tuple(axis for axis in part.axes if axis.role == "axis")
                kept.append(self._all(MaskedTensor(part.axes, part.present), wide))
        if expr.mask is not None:
            mask = self.tensor(expr.mask)
            kept.append(MaskedTensor(mask.axes, mask.value if mask.present is None else mask.value & mask.present))
        return both(kept)

    def _reduce(self, expr: Reduce) -> MaskedTensor:
        score = [self.tensor(part) for part in (factors_of(expr.score) if expr.function == "sum" else [expr.score])]
        value = [self.tensor(part) for part in factors_of(expr.value)] if expr.value is not None else []
        places = value.pop() if expr.function in POSITIONS else None
        kept = self._kept(expr, score + value)
        over = self.block.over
        if expr.function == "sum":
            return self._total(score, kept, over)
        rows = tuple(a for a in union([score[0].axes, kept.axes if kept else ()]) if a not in over)
        sizes = self.sizes(rows + over)
        flat = broadcast(score[0].value, score[0].axes, rows + over, sizes)
        if kept is not None:
            missing = FOLDS[expr.function].empty if expr.function in FOLDS else -math.inf
            flat = torch.where(along(kept.value, kept.axes, rows + over), flat, missing)
        flat = flat.reshape(*(sizes[axis] for axis in rows), -1)
        if expr.function in FOLDS:
            return MaskedTensor(rows, extreme(expr.function, flat))
        if places is not None:
            kept_here = torch.ones_like(flat, dtype=torch.bool)
            if kept is not None:
                kept_here = broadcast(kept.value, kept.axes, rows + over, sizes).reshape(flat.shape)
            place = broadcast(places.value, places.axes, over, sizes).reshape(-1)
            if expr.nth is None:
                return MaskedTensor(rows, position(flat, kept_here, place))
            nth = self.tensor(expr.nth)
            axes = union([rows, nth.axes])
            shape = [len(self.range_of(axis)) for axis in axes]
            found = ranked(flat, kept_here, place)
            found = along(found, (*rows, over[0]), (*axes, over[0])).expand(*shape, -1)
            return MaskedTensor(axes, nth_of(found, along(nth.value, nth.axes, axes).expand(shape)))
        sink = self.tensor(expr.sink) if expr.sink is not None else None
        if sink is not None:  # one more key, whose value is 0
            rows_too = union([rows, sink.axes])
            flat = broadcast(
                flat, (*rows, over[0]), (*rows_too, over[0]), {**self.sizes(rows_too), over[0]: flat.shape[-1]}
            )
            rows = rows_too
            last = broadcast(sink.value, sink.axes, rows, self.sizes(rows)).to(flat.dtype)
            flat = torch.cat([flat, last[..., None]], -1)
        present = (
            None if sink is None or sink.present is None else broadcast(sink.present, sink.axes, rows, self.sizes(rows))
        )
        if expr.function == "logsumexp":
            return MaskedTensor(rows, flat.logsumexp(-1), present)
        weights = torch.softmax(flat, -1)
        if kept is not None:
            weights = torch.where(flat == -math.inf, 0.0, weights)  # a row without keys is NaN so far
        if sink is not None:
            weights = weights[..., :-1]
        weights = weights.reshape(*(self.sizes(rows)[axis] for axis in rows), *(sizes[axis] for axis in over))
        return self._total([MaskedTensor(rows + over, weights), *value], None, over, present)

    def _total(
        self, factors: list[MaskedTensor], kept: MaskedTensor | None, over: Axes, present: torch.Tensor | None = None
    ) -> MaskedTensor:
        """The sum over the key positions that are kept of a product."""
        if kept is not None:
            first = factors[0]
            axes = union([first.axes, kept.axes])
            value = torch.where(along(kept.value, kept.axes, axes), along(first.value, first.axes, axes), 0.0)
            factors = [MaskedTensor(axes, value), *factors[1:]]
        rest = tuple(axis for axis in union(factor.axes for factor in factors) if axis not in over)
        value = contract(factors, rest)
        for axis in over:
            if not any(axis in factor.axes for factor in factors):
                value = value * len(self.range_of(axis))
        if present is not None:
            rows = tuple(axis for axis in factors[0].axes if axis not in over)
            present = broadcast(present, rows, rest, self.sizes(rest))
        return MaskedTensor(rest, value, present)


def position(score: torch.Tensor, kept: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """The least place of a largest score that is kept, along the last dimension; -1 where there is none."""
    largest = extreme("max", score)[..., None]
    found = torch.where(kept & (score == largest), place, LARGEST)
    return torch.where((found < LARGEST).any(-1), found.amin(-1) if found.shape[-1] else -1, -1)


def ranked(score: torch.Tensor, kept: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """The places of scores that are kept, the largest first, along the last dimension; -1 for NaN and all others."""
    order = score.sort(descending=True, stable=True).indices  # NaN comes first
    order = order.gather(-1, kept.gather(-1, order).sort(descending=True, stable=True).indices)
    return torch.where(kept & ~score.isnan(), place, -1).gather(-1, order)


def nth_of(found: torch.Tensor, nth: torch.Tensor) -> torch.Tensor:
    """Number `nth` along the last dimension, -1 behind the last."""
    if not found.shape[-1]:
        return torch.full_like(nth, -1)
    return torch.where(
        nth < found.shape[-1], found.gather(-1, nth.clamp(0, found.shape[-1] - 1)[..., None])[..., 0], -1
    )


def gathered_at(tensor: torch.Tensor, places: Sequence[torch.Tensor]) -> torch.Tensor:
    """What lies at some places of the first dimensions.

    Gradients of an index are added one by one where many pairs read one place; those of `index_select` side by side.
    """
    if not tensor.requires_grad:
        return tensor[tuple(places)]
    number = places[0]
    for place, extent in zip(places[1:], tensor.shape[1:], strict=False):
        number = number * extent + place
    kept = tensor.shape[len(places) :]
    return tensor.reshape(-1, *kept).index_select(0, number.flatten()).view(*number.shape, *kept)


def extreme(function: str, value: torch.Tensor) -> torch.Tensor:
    """The largest or the smallest along the last dimension."""
    if not value.shape[-1]:
        return value.new_full(value.shape[:-1], FOLDS[function].empty)
    return (torch.amax if function == "max" else torch.amin)(value, -1)


def factors_of(expr: Expr) -> list[Expr]:
    """The factors of a product."""
    if isinstance(expr, Apply) and expr.operator == "fmul":
        return [factor for argument in expr.arguments for factor in factors_of(argument)]
    return [expr]


def evaluated(expr: Expr) -> list[Expr]:
    """The expressions that `Rows` evaluates for one: the factors of a product that is summed, never the product."""
    match expr:
        case ReduceAxis(function="sum"):
            return factors_of(expr.body)
        case Reduce(function="sum"):
            return [*factors_of(expr.score), *([expr.mask] if expr.mask is not None else [])]
        case Reduce(value=value) if value is not None:
            return [e for e in (expr.score, expr.mask, expr.sink, *factors_of(value)) if e is not None]
        case _:
            return list(operands(expr))
