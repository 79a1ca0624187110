"""Whether a call keeps to what the manual leaves unspecified: comparisons whose terms leave 64 bits."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.checking.evaluate import Number
from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    IndexValue,
    Kind,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    walk,
)
from attndsl.inputs.ranges import expressions
from attndsl.testing.case import Array

LIMIT = 2**63
"""What the magnitude of 64 bits stays below, or is at."""

AROUND = 2**32
"""More than any extent here: what leaves 64 bits by less comes back at the other end, out of any range."""

ROUNDED = 2**8
"""No less than the magnitude of an int of ROUNDED_INTS, which a float may be written to."""

COMPARED = ("ieq", "ine", "ilt", "ile", "igt", "ige", "imin", "imax")


def comparisons_fit(
    spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number], arrays: Mapping[str, Array]
) -> bool:
    """Whether the terms of every comparison of a call fit 64 bits, wherever they are moved.

    So they do of every index that is held against an extent; one may leave 64 bits by little.
    """
    sizes = _Sizes(dims, params, arrays)
    for block in spec.blocks:
        places = [index for write in block.writes for index in write.indices]
        for expr in (*expressions(block), *spec.requires):
            if isinstance(expr, Read):
                places += expr.indices
            elif isinstance(expr, Apply) and expr.operator in COMPARED:
                if sum(map(sizes.of, expr.arguments)) >= LIMIT:
                    return False
            elif isinstance(expr, IndexValue) and sizes.of(expr.index.extent) >= LIMIT:
                return False
        if any(sizes.of(place) >= LIMIT + AROUND for place in places):
            return False
        sizes.write(block)
    return True


class _Sizes:
    """The largest magnitude that each integer could have in a call, were sums and products not to wrap."""

    def __init__(self, dims: Mapping[str, int], params: Mapping[str, Number], arrays: Mapping[str, Array]) -> None:
        self._dims = dims
        self._params = params
        self._stored = {name: _largest(values) for name, values in arrays.items() if values.dtype.kind in "iu"}
        self._known: dict[Expr, int] = {}

    def write(self, block: Block) -> None:
        """Later blocks read what this one writes, and what was there before."""
        written = [(w.tensor.name, self.of(w.value) if w.value.kind is Kind.INT else ROUNDED) for w in block.writes]
        for name, size in written:
            self._stored[name] = max(self._stored.get(name, 0), min(size, LIMIT))
        self._known.clear()

    def of(self, expr: Expr) -> int:
        """The magnitude of an integer; 0 of anything else."""
        for part in walk(expr):
            if part not in self._known:
                self._known[part] = self._of(part) if part.kind is Kind.INT else 0
        return self._known[expr]

    def _of(self, expr: Expr) -> int:
        match expr:
            case Constant(value=value):
                return abs(int(value))
            case DimValue(name=name):
                return self._dims[name]
            case ParamValue(name=name):
                return abs(int(self._params[name]))
            case IndexValue(index=index):
                return self.of(index.bound)
            case Read(tensor=tensor):
                return self._stored[tensor.name]
            case Reduce(value=value) if value is not None:  # a position, or -1
                return max(self._known[value], 1)
            case ReduceAxis(index=index, body=body):
                return self.of(index.bound) * self._known[body]
            case Apply(operator=operator, arguments=arguments):
                return self._applied(operator, [self._known[argument] for argument in arguments], arguments)
        return 0

    def _applied(self, operator: str, sizes: list[int], arguments: tuple[Expr, ...]) -> int:
        match operator:
            case "iadd" | "isub":
                return sum(sizes)
            case "imul":
                return sizes[0] * sizes[1]
            case "ishl":
                return sizes[0] << min(sizes[1], 63)
            case "ineg" | "iabs" | "iselect" | "imin" | "imax":
                return max(sizes)
        sizes = [min(size, LIMIT) for size in sizes]  # these take what has wrapped
        match operator, arguments:
            case "imod", _:  # it has the sign of what divides: -1 % p is p - 1
                return sizes[1]
            case "ishr", (_, Constant(value=by)):
                return (sizes[0] >> min(max(int(by), 0), 63)) + 1
            case "iand", (_, Constant(value=bits)) if bits >= 0:
                return int(bits)
            case (("iand" | "ior" | "ixor"), _):
                return int(min(LIMIT, 1 << max(sizes).bit_length()))
        return sizes[0]


def _largest(values: Array) -> int:
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0
