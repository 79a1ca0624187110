"""What integers are sensible in a spec's tensors, from where their values go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from attndsl.checking.evaluate import Number, evaluate
from attndsl.checking.typed import Apply, Block, Constant, Expr, IndexValue, Kind, Read, Spec, Tensor, walk
from attndsl.inputs.strides import LAYOUTS

Use = OneOf["index", "extent", "position", "offset"]

PRIORITY: tuple[Use, ...] = ("index", "extent", "position")
"""Of several uses of a tensor the first one here is the one that counts."""

SELECTS = ("iselect", "fselect", "bselect")
ORDERINGS = ("ilt", "ile", "igt", "ige")
LOGARITHMS = ("log", "log2", "sqrt", "rsqrt")


@dataclass(frozen=True, slots=True)
class IndexRange:
    """Integers 0 … `high`, and what they are used as; offsets rise along the last dimension.

    Where they say which place a row writes they are to be `apart`: no two the same, as far as there are enough.
    """

    use: Use
    high: int
    apart: bool = False


def integer_ranges(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> dict[str, IndexRange]:
    """The range of each integer input whose values are used as indices, extents or positions of keys.

    An index stays below the extent that it is held against, an extent goes up to its bound, a position is compared
    with an index variable, and offsets are such that one is taken from the next. Of equal uses the narrowest counts.
    """
    return _Ranges(spec, dims, params).find()


def positive_inputs(spec: Spec) -> set[str]:
    """The float inputs that a logarithm or a root is taken of."""
    return {
        argument.tensor.name
        for expr in expressions(*spec.blocks)
        if isinstance(expr, Apply) and expr.operator in LOGARITHMS
        for argument in expr.arguments
        if isinstance(argument, Read)
    }


def placing(spec: Spec) -> set[str]:
    """The inputs that tell rows apart by where they write: those that are read at what no other subscript is."""
    found: set[str] = set()
    for write in (write for block in spec.blocks for write in block.writes if not write.adds):
        plain = {place.index for place in write.indices if isinstance(place, IndexValue)}
        for read in (expr for expr in walk(*write.indices) if isinstance(expr, Read)):
            variables = {expr.index for expr in walk(*read.indices) if isinstance(expr, IndexValue)}
            found |= {read.tensor.name} if not variables <= plain else set()
    return found


def layouts_of(spec: Spec, name: str) -> list[str]:
    """The layouts that an input may have: what is written, and what tells rows their places, repeats nothing."""
    once = spec.tensors[name].role == "inout" or name in placing(spec)
    return [layout for layout in LAYOUTS if layout != "broadcast" or not once]


def expressions(*blocks: Block) -> Iterator[Expr]:
    """Every expression of blocks, once each, those of the extents of index variables among them."""
    roots: list[Expr] = []
    for block in blocks:
        roots += [expr for write in block.writes for expr in (*write.indices, write.value)]
        roots += [expr for index in (*block.each, *block.over) for expr in (index.extent, index.bound)]
    yield from walk(*roots)


class _Ranges:
    def __init__(self, spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> None:
        self._spec = spec
        self._dims = dims
        self._params = params
        self._found: dict[str, tuple[int, int]] = {}

    def find(self) -> dict[str, IndexRange]:
        for block in self._spec.blocks:
            for index in (*block.each, *block.over):
                self._push(index.extent, self._value(index.bound) or 0, "extent")
            for write in block.writes:
                self._access(write.tensor, write.indices)
        offsets: set[str] = set()
        for expr in expressions(*self._spec.blocks):
            match expr:
                case Read():
                    self._access(expr.tensor, expr.indices)
                case Apply(operator=operator, arguments=(left, right)) if operator in ORDERINGS:
                    self._compare(left, right)
                    self._compare(right, left)
                case Apply(operator="isub"):
                    offsets |= _offsets(expr)
        places = placing(self._spec)
        return {
            name: _range(PRIORITY[rank], high, name in offsets, name in places)
            for name, (rank, high) in self._found.items()
        }

    def _access(self, tensor: Tensor, indices: tuple[Expr, ...]) -> None:
        for index, extent in zip(indices, tensor.extents, strict=True):
            self._push(index, (self._value(extent) or 0) - 1, "index")

    def _compare(self, expr: Expr, other: Expr) -> None:
        """What is compared with an index variable is one of its values."""
        bounds = [self._value(e.index.bound) for e in walk(other) if isinstance(e, IndexValue)]
        if known := [bound for bound in bounds if bound is not None]:
            self._push(expr, max(known), "position")

    def _push(self, expr: Expr, high: int, use: Use) -> None:
        """`expr` is to be at most `high`: what that says of the tensors it reads."""
        match expr:
            case Read(kind=Kind.INT):
                name = expr.tensor.name
                ranked = PRIORITY.index(use), high
                self._found[name] = min(self._found.get(name, ranked), ranked)
            case Apply(operator="iadd", arguments=(left, right)):
                self._push(left, high - self._largest(right), use)
                self._push(right, high - self._largest(left), use)
            case Apply(operator="isub", arguments=(left, right)):
                self._push(left, high + (self._value(right) or 0), use)
            case Apply(operator="imul", arguments=(left, right)):
                for factor, other in ((left, right), (right, left)):
                    if (value := self._value(factor)) is not None and value > 0:
                        self._push(other, high // value, use)
            case Apply(operator="idiv", arguments=(left, right)):
                if (value := self._value(right)) is not None and value > 0:
                    self._push(left, (high + 1) * value - 1, use)
            case Apply(operator="imin" | "imax" | "iselect", arguments=(*_, left, right)):
                self._push(left, high, use)
                self._push(right, high, use)

    def _value(self, expr: Expr) -> int | None:
        """What an integer of dims and parameters is worth, None for another one."""
        try:
            return int(evaluate(expr, self._dims, self._params))
        except (ValueError, ArithmeticError):
            return None

    def _largest(self, expr: Expr) -> int:
        """The largest that an integer can be, where numbers tell it; else 0, so that others need not make room."""
        if isinstance(expr, Apply) and expr.operator in SELECTS:
            return max(self._largest(branch) for branch in expr.arguments[1:])
        return self._value(expr) or 0


def _range(use: Use, high: int, rises: bool, apart: bool) -> IndexRange:
    if rises:  # the last offset is the end of what is packed, not an index into it
        return IndexRange("offset", max(0, high + 1 if use == "index" else high))
    return IndexRange(use, max(0, high), apart and use == "index")


def _offsets(difference: Apply) -> set[str]:
    """The tensors of which one element is taken from the next one in a difference."""
    added, taken = _reads(difference, 1)
    return {
        high.tensor.name
        for high in added
        for low in taken
        if high.tensor is low.tensor and high.tensor.role == "input" and _next(low.indices[-1], high.indices[-1])
    }


def _reads(expr: Expr, sign: int) -> tuple[list[Read], list[Read]]:
    """The reads that an integer sum adds, and those that it takes away."""
    match expr:
        case Read():
            return ([expr], []) if sign > 0 else ([], [expr])
        case Apply(operator="iadd" | "isub" as operator, arguments=(left, right)):
            added, taken = _reads(left, sign)
            more, less = _reads(right, sign if operator == "iadd" else -sign)
            return added + more, taken + less
        case _:
            return [], []


def _next(low: Expr, high: Expr) -> bool:
    match low, high:
        case _, Apply(operator="iadd", arguments=(base, Constant(value=1))):
            return base is low
        case Apply(operator="isub", arguments=(base, Constant(value=1))), _:
            return base is high
        case _:
            return False
