"""A call of a spec: its dims, and the chunks of rows in which it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import torch

from attndsl.bench.unfused.rows import Rows, evaluated
from attndsl.bench.unfused.tensors import Axes, union
from attndsl.checking.evaluate import evaluate, with_defaults
from attndsl.checking.typed import Block, Expr, Index, IndexValue, Kind, Reduce, ReduceAxis, Spec
from attndsl.reference.dims import dims_of

CHUNK = 2**26
"""Elements of the largest intermediate of the truth: in float64, half a GiB."""

DIFFERENTIATED = CHUNK // 4
"""The same where autograd keeps a dozen intermediates: some GiB."""


def truth(spec: Spec, tensors: Mapping[str, torch.Tensor], params: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """What a call writes in float64, computed in chunks of rows: outputs, and inouts as it leaves them."""
    return UnfusedCall(spec, tensors, params, torch.float64).outputs(CHUNK)


def true_gradients(
    spec: Spec,
    tensors: Mapping[str, torch.Tensor],
    params: Mapping[str, Any],
    cotangents: Mapping[str, torch.Tensor],
    of: Sequence[str],
) -> dict[str, torch.Tensor]:
    """What some inputs of a call get in float64, by torch's autograd, in chunks of rows; of a spec of one block."""
    return UnfusedCall(spec, tensors, params, torch.float64).gradients(cotangents, of, DIFFERENTIATED)


class UnfusedCall:
    """A call of a spec; `precision` is the dtype of its floats, None for the one in which each is stored."""

    def __init__(
        self,
        spec: Spec,
        tensors: Mapping[str, torch.Tensor],
        params: Mapping[str, Any],
        precision: torch.dtype | None = None,
    ) -> None:
        shapes: Any = tensors  # dims_of asks for shapes alone
        self.spec, self.given, self.tensors, self.precision = spec, tensors, tensors, precision
        self.dims = dims_of(spec, shapes, params)
        self.params = with_defaults(spec.params, self.dims, params)
        self.device = next(iter(tensors.values())).device

    def outputs(self, chunk: int | None = None) -> dict[str, torch.Tensor]:
        """What a call writes, in memory of its own; no intermediate has more elements than `chunk`."""
        written = self._unwritten()
        self.tensors = {**self.given, **written}  # what a later block reads
        for block in self.spec.blocks:
            for ranges in self._cut(block, chunk):
                self._write(block, ranges, written)
        return {tensor.name: written[tensor.name] for tensor in self.spec.results}

    def gradients(
        self, cotangents: Mapping[str, torch.Tensor], of: Sequence[str], chunk: int | None = None
    ) -> dict[str, torch.Tensor]:
        """What some inputs get of the cotangents of outputs, by torch's autograd; of a spec of one block.

        Rows are independent of each other: each chunk of them is differentiated by itself, and what inputs get adds up.
        """
        (block,) = self.spec.blocks
        leaves = {name: self.given[name].detach().to(self.precision).requires_grad_() for name in of}
        self.tensors = {**self.given, **leaves}
        found = {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}
        given = [cotangent.to(self.precision) for cotangent in cotangents.values()]
        for ranges in self._cut(block, chunk):
            written = self._unwritten()
            self._write(block, ranges, written)
            outputs = [written[name] for name in cotangents]
            for name, part in zip(of, torch.autograd.grad(outputs, [*leaves.values()], given), strict=True):
                found[name] += part
        return found

    def _unwritten(self) -> dict[str, torch.Tensor]:
        """Memory for what a call writes, as it is before."""
        stored = [t.dtype for t in self.given.values() if t.dtype.is_floating_point and t.dtype.itemsize > 1]
        element = self.precision or stored[0]
        dtypes = {Kind.FLOAT: element, Kind.INT: torch.int64, Kind.BOOL: torch.bool}
        kinds = {write.tensor.name: write.value.kind for block in self.spec.blocks for write in block.writes}
        written = {}
        for tensor in self.spec.written:
            dtype = dtypes[kinds[tensor.name]]
            if tensor.role == "inout":
                written[tensor.name] = self.given[tensor.name].to(dtype, copy=True)
            else:
                shape = [self.evaluate(extent) for extent in tensor.extents]
                written[tensor.name] = torch.zeros(shape, dtype=dtype, device=self.device)
        return written

    def _write(self, block: Block, ranges: Mapping[Index, range], written: Mapping[str, torch.Tensor]) -> None:
        """Puts what a block writes for these values of its variables where it belongs."""
        rows = Rows(self, block, ranges)
        for write in block.writes:
            rows.write(write, written[write.tensor.name])

    def evaluate(self, expr: Expr) -> int:
        """What an integer of dims and parameters is worth. Raises ValueError for another one."""
        return int(evaluate(expr, self.dims, self.params))

    @property
    def intermediate(self) -> int:
        """The elements of the largest intermediate, were no rows cut."""
        blocks = self.spec.blocks
        return max(self.largest(b, {i: self._size(b, i) for i in (*b.each, *b.over)}) for b in blocks)

    def largest(self, block: Block, sizes: Mapping[Index, int]) -> int:
        """The elements of the largest intermediate, with so many values for the block's variables."""
        found: dict[Expr, Axes] = {}

        def visit(expr: Expr) -> Axes:
            if expr not in found:
                inner = union(visit(part) for part in evaluated(expr))
                match expr:
                    case IndexValue(index=index):
                        inner = (index,)
                    case ReduceAxis(index=index):
                        inner = tuple(axis for axis in inner if axis is not index)
                    case Reduce():
                        found[expr.score] = union(visit(e) for e in (expr.score, expr.mask) if e is not None)  # weights
                        inner = tuple(axis for axis in inner if axis not in block.over)
                found[expr] = inner
            return found[expr]

        for write in block.writes:
            visit(write.value)

        def count(axes: Axes) -> int:
            return math.prod(sizes[a] if a in sizes else self.evaluate(a.extent) for a in axes if a.role != "axis")

        def width(axes: Axes) -> int:
            return math.prod(self.evaluate(axis.extent) for axis in axes if axis.role == "axis")

        return max((count(axes) * width(axes) for axes in found.values()), default=0)

    def _cut(self, block: Block, chunk: int | None) -> list[dict[Index, range]]:
        sizes = {index: self._size(block, index) for index in (*block.each, *block.over)}
        each = {index: sizes[index] for index in block.each}
        for index in block.each:
            while chunk and each[index] > 1 and self.largest(block, {**sizes, **each}) > chunk:
                each[index] = -(-each[index] // 2)
        pieces = [
            [range(low, min(low + each[index], sizes[index])) for low in range(0, sizes[index], max(1, each[index]))]
            for index in block.each
        ]
        whole = {index: range(sizes[index]) for index in block.over}
        return [{**dict(zip(block.each, some, strict=True)), **whole} for some in product(*pieces)]

    def _size(self, block: Block, index: Index) -> int:
        """How many values a variable takes at most."""
        known = []
        for expr in (index.extent, index.bound):
            try:
                known.append(self.evaluate(expr))
            except ValueError:
                continue
        if not known:  # bound by other variables: by their largest values
            others = {other: range(self._size(block, other)) for other in block.each if other is not index}
            known.append(int(Rows(self, block, others).tensor(index.bound).value.max()))
        return max(0, min(known))
