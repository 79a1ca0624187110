"""The reductions of `attn` over the key positions, on arrays: all keys at once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from attndsl.ir import attn
from attndsl.ir.arrays import NamedArray, dtype_of, fold_along, formulas, sum_along
from attndsl.ir.meaning import Array
from attndsl.ir.streams import Stream
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import SSAValue


class OverKeys:
    """Reduces the `values` that operations have given, where variables are `valid` and keys in the split."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, NamedArray] = {}
        self.valid: dict[SSAValue, NamedArray] = {}  # where a variable is below its extent
        self.split: dict[SSAValue, NamedArray] = {}  # where a key is in the split

    def positions(self, op: Any, *values: SSAValue) -> tuple[list[Array], Array, int, tuple[SSAValue, ...]]:
        """Arrays broadcast against the key positions, where those count, the place of their axis, and all axes.

        Where a position is a value of two variables, all pairs of them are one axis.
        """
        outer = op.over.owner.within
        conditions = [known[op.over] for known in (self.valid, self.split) if op.over in known]
        conditions += [self.valid[outer]] if outer is not None else []
        conditions += [self.values[op.where]] if op.where is not None else []
        operands = [self.values[v] for v in values]
        found = dict.fromkeys(axis for operand in (*operands, *conditions) for axis in operand.axes)
        axes = tuple(axis for axis in found if axis is not outer)
        position = axes.index(op.over)
        if outer is not None:
            axes = (*axes[:position], outer, *axes[position:])
        where = functools.reduce(np.logical_and, [condition.along(axes) for condition in conditions])
        arrays = [operand.along(axes) for operand in operands]
        if outer is not None:
            pairs = [self.values[variable].array.size for variable in (outer, op.over)]
            *arrays, where = (_paired(array, position, pairs) for array in (*arrays, where))
            axes = (*axes[:position], *axes[position + 1 :])
        return arrays, where, position, axes

    def over_keys(self, op: attn.ReduceOp) -> NamedArray:
        (body,), where, position, axes = self.positions(op, op.body)
        empty = body.dtype.type(monoid_of(op).identity(op.result.type))
        chosen = np.where(where, body, empty)
        folded = NamedArray(fold_along(op, chosen, position), axes[:position] + axes[position + 1 :])
        if not isinstance(op, attn.TotalOp) or op.given is None:
            return folded
        given = self.values[op.given].along(folded.axes)
        return NamedArray(np.where(np.isfinite(given), given, folded.array), folded.axes)

    def softmax(self, op: attn.WeighOp) -> NamedArray:
        values = [op.score, *op.values, *([op.sink] if op.sink is not None else [])]
        arrays, where, position, axes = self.positions(op, *values)
        algebra, dtype = Stream(natural=True), dtype_of(op.results[0].type)
        terms = formulas(dtype)
        sink = arrays.pop() if op.sink is not None else np.asarray(-np.inf, dtype)
        score = np.where(where, arrays[0], -np.inf)
        top = np.maximum(score.max(axis=position, initial=-np.inf, keepdims=True), sink)
        shift = algebra.shift(top, terms)
        weight = algebra.power(score, shift, terms)
        sums = [weight, *(np.where(where, weight * value, 0) for value in arrays[1:])]
        total, *summed = (np.expand_dims(sum_along(each, position), position) for each in sums)
        total = total + algebra.power(sink, shift, terms)
        result = op.finished(algebra, (top, total, *summed), terms)
        return NamedArray(result.squeeze(position).astype(dtype), axes[:position] + axes[position + 1 :])

    def argmax(self, op: attn.ArgMaxOp) -> None:
        (score, place), where, position, axes = self.positions(op, op.score, op.place)
        nothing, none = (value.dtype.type(empty) for value, empty in zip((score, place), op.identities, strict=True))
        score = np.where(where, score, nothing)
        largest = score.max(axis=position, initial=-np.inf, keepdims=True)
        least = np.where(where & (score == largest), place, none).min(axis=position, initial=none)
        rest = axes[:position] + axes[position + 1 :]
        self.values[op.maximum] = NamedArray(largest.squeeze(position), rest)
        self.values[op.position] = NamedArray(least, rest)

    def stream(self, op: attn.StreamOp) -> None:
        dtype = dtype_of(op.maximum.type)
        terms = formulas(dtype)
        one = np.ones((), dtype)
        for value, result in ((None, op.total), *zip(op.values, op.sums, strict=True)):
            (score, *items), where, position, axes = self.positions(op, op.score, *([] if value is None else [value]))
            rest = axes[:position] + axes[position + 1 :]
            masked = np.where(where, score, -np.inf)
            top = masked.max(axis=position, initial=-np.inf, keepdims=True)
            weight = op.algebra.power(masked, op.algebra.shift(top, terms), terms)
            summed = sum_along(np.where(where, weight * (items[0] if items else one), 0), position)
            self.values[result] = NamedArray(summed.astype(dtype), rest)
            if value is None:
                self.values[op.maximum] = NamedArray(top.squeeze(position).astype(dtype), rest)


def _paired(array: Array, position: int, sizes: list[int]) -> Array:
    """An array whose axes at `position` and behind it, of these sizes or both of 1, are one."""
    shape = array.shape[:position], array.shape[position + 2 :]
    if array.shape[position : position + 2] == (1, 1):
        sizes = [1, 1]
    whole = np.broadcast_to(array, (*shape[0], *sizes, *shape[1]))
    return whole.reshape((*shape[0], sizes[0] * sizes[1], *shape[1]))
