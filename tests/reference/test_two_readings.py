"""The interpreter beside a second reading of `typed`: its docstrings word by word, one number at a time, lazily."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.evaluate import with_defaults
from attndsl.checking.numbers import ON_NUMBERS, single
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
    Spec,
    Write,
    operands,
)
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.reference import reference
from attndsl.storage import decode
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with

Array = np.ndarray[Any, Any]
Where = dict[Index, int]


class Absent(Exception):
    """The expression is absent for these values of its variables."""


class Scalar:
    """A spec's outputs from inputs that are plain arrays of numbers."""

    def __init__(
        self, spec: Spec, arrays: Mapping[str, Array], dims: Mapping[str, int], params: Mapping[str, Any]
    ) -> None:
        self.spec, self.arrays, self.dims, self.params = spec, {**arrays}, dims, params

    def outputs(self) -> dict[str, Array]:
        for tensor in self.spec.written:
            zeros = np.zeros([self.value(extent, {}) for extent in tensor.extents])
            self.arrays[tensor.name] = self.arrays.get(tensor.name, zeros).astype(np.float64)
        for block in self.spec.blocks:
            for row in self.rows(block.each, {}):
                for write in block.writes:
                    for at in self.rows(write.axes, row):
                        self.write(block, write, at, self.arrays[write.tensor.name])
        return {tensor.name: self.arrays[tensor.name] for tensor in self.spec.results}

    def write(self, block: Block, write: Write, at: Where, output: Array) -> None:
        try:
            index = tuple(self.value(i, at) for i in write.indices)
        except Absent:
            return
        if all(0 <= i < size for i, size in zip(index, output.shape, strict=True)):
            before = output[index] if write.adds else 0.0
            try:
                output[index] = before + self.value(write.value, at, block.over)
            except Absent:
                output[index] = output[index] if write.tensor.role == "inout" else before

    def rows(self, indices: tuple[Index, ...], at: Where) -> Iterator[Where]:
        if not indices:
            yield at
            return
        for value in range(self.size(indices[0], at)):
            yield from self.rows(indices[1:], {**at, indices[0]: value})

    def size(self, index: Index, at: Where) -> int:
        try:
            return int(min(self.value(index.extent, at), self.value(index.bound, at)))
        except Absent:
            return 0

    def value(self, expr: Expr, at: Where, over: tuple[Index, ...] = ()) -> Any:
        match expr:
            case Constant(value=value):
                return value
            case DimValue(name=name):
                return self.dims[name]
            case ParamValue(name=name):
                return self.params[name]
            case IndexValue(index=index):
                return at[index]
            case Read(tensor=tensor, indices=indices):
                array = self.arrays[tensor.name]
                index_ = tuple(self.value(i, at, over) for i in indices)
                if not all(0 <= i < size for i, size in zip(index_, array.shape, strict=True)):
                    raise Absent
                found = array[index_].item()
                return int(found) if expr.kind is Kind.INT else found
            case ReduceAxis(function=function, index=index, body=body):
                terms = [self.value(body, {**at, index: n}, over) for n in range(self.size(index, at))]
                return folded(function, terms)
            case Reduce():
                return self.reduce(expr, at, over)
            case Apply():
                return self.apply(expr, at, over)

    def apply(self, expr: Apply, at: Where, over: tuple[Index, ...]) -> Any:
        first, *others = expr.arguments
        match expr.operator:
            case "and":
                return self.value(first, at, over) and self.value(others[0], at, over)
            case "or":
                return self.value(first, at, over) or self.value(others[0], at, over)
            case "iselect" | "fselect" | "bselect":
                return self.value(others[0] if self.value(first, at, over) else others[1], at, over)
        values = [self.value(argument, at, over) for argument in expr.arguments]
        if expr.operator in ("idiv", "imod") and values[1] == 0:
            raise Absent
        result = ON_NUMBERS[expr.operator](*values)
        return (result + 2**63) % 2**64 - 2**63 if expr.kind is Kind.INT else result

    def reduce(self, expr: Reduce, at: Where, over: tuple[Index, ...]) -> float:
        sink = -math.inf if expr.sink is None else self.value(expr.sink, at)
        terms = [(score, value) for key in self.rows(over, at) for score, value in self.term(expr, key)]
        scores = [score for score, _ in terms]
        if expr.function in FOLDS:
            return float(folded(expr.function, scores))
        if expr.nth is not None:
            nth, order = self.value(expr.nth, at), sorted(terms, key=_later)
            return order[nth][1] if nth < len(order) and not math.isnan(order[nth][0]) else -1
        if expr.function in POSITIONS:
            largest = max(scores, default=-math.inf)
            unclear = not terms or any(map(math.isnan, scores))
            return -1 if unclear else min(value for score, value in terms if score == largest)
        denominator = math.exp(sink) + sum(math.exp(score) for score in scores)
        if expr.function == "logsumexp":
            return math.log(denominator) if denominator else -math.inf
        return sum(math.exp(s) * v for s, v in terms) / denominator if denominator else 0.0

    def term(self, expr: Reduce, at: Where) -> Iterator[tuple[float, float]]:
        """The score and the value at a key position, nothing where it is left out."""
        try:
            if expr.mask is not None and not self.value(expr.mask, at):
                return
            for part in (expr.score, expr.value):
                if part is not None:
                    for anywhere in self.rows(tuple(free_axes(part)), at):
                        self.value(part, anywhere)
            yield self.value(expr.score, at), 0.0 if expr.value is None else self.value(expr.value, at)
        except Absent:
            return


def _later(term: tuple[float, float]) -> tuple[bool, float, float]:
    """What a score and a position are sorted by: NaN first, then the largest, the smaller position of equal ones."""
    score, position = term
    return (False, 0.0, position) if math.isnan(score) else (True, -score, position)


def folded(function: str, terms: list[Any]) -> Any:
    """The sum, the largest or the smallest of some numbers."""
    if function == "sum":
        return sum(terms)
    return (max if function == "max" else min)(terms, default=FOLDS[function].empty)


def free_axes(expr: Expr) -> set[Index]:
    """The axis variables that an expression depends on and does not bind."""
    if isinstance(expr, IndexValue):
        return {expr.index} if expr.index.role == "axis" else set()
    inner = {axis for operand in operands(expr) for axis in free_axes(operand)}
    return inner - {expr.index} if isinstance(expr, ReduceAxis) else inner


GALLERY = Path(__file__).parents[2] / "examples"

FEW = {"B": 2, "H": 2, "Hq": 2, "Hkv": 1, "M": 2, "N": 3, "D": 2, "E": 2, "R": 3, "K": 3, "Y": 2, "X": 3}
OTHERS = {
    "block_diffusion": FEW | {"N": 4},
    "int4_cache": {"B": 1, "Hq": 1, "Hkv": 1, "M": 1, "N": 2},
    "mla_projections_q8_0": {"B": 1, "H": 1, "M": 1, "N": 2, "D": 2, "E": 2},
    "mla_q8_0": {"B": 1, "H": 1, "M": 1, "N": 2},
}
"""The extents of specs whose conditions ask for an even N and wide heads."""


@pytest.mark.parametrize("hostile", [False, True], ids=["sensible", "hostile"])
@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.attn")), ids=lambda path: path.stem)
def test_two_readings_agree(path: Path, hostile: bool) -> None:
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    sizes = OTHERS.get(spec.name, FEW)
    dims = default_dims(spec, given={name: size for name, size in sizes.items() if name in spec.dims})
    params = {**default_params(spec), **{p.name: 2 for p in spec.params if p.kind is Kind.INT}}
    params = {**with_defaults(spec.params, dims, params)}
    params |= {p.name: single(params[p.name]) for p in spec.params if p.kind is Kind.FLOAT and p.name in params}
    types = types_with(spec, "f64")
    arrays = make_inputs(spec, dims, types, 1, params, hostile)
    plain = {t.name: decode(arrays[t.name], types.get(t.element, t.element)) for t in spec.inputs}
    expected = Scalar(spec, plain, dims, params).outputs()
    for name, got in reference(spec, arrays, params).items():
        np.testing.assert_allclose(got, expected[name], rtol=1e-12, atol=1e-12)
